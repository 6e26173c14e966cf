"""`odradek spark`."""
