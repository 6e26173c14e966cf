"""Commits each batch of a sink exactly once: the protocol, its durable decisions, its transactions."""
