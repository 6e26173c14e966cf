"""`odradek up`."""
