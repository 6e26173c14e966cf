"""Simulated replication: brokers with the real controller, swarms, and the ledger of what was acknowledged."""
