"""Idempotence and transactions of one partition: the state of its producers and its snapshots on disk."""
