"""`odradek quorum`."""
