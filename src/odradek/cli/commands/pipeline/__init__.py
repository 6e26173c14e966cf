"""`odradek pipeline`."""
