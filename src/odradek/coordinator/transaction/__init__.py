"""Transactions: a shard per partition of `__transaction_state`."""
