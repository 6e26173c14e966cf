"""`odradek reassign`."""
