"""`odradek consume`."""
