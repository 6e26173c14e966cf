"""`odradek metadata`."""
