"""`odradek produce`."""
