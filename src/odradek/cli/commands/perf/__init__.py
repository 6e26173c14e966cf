"""`odradek perf`."""
