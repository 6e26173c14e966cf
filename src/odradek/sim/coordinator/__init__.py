"""Simulated coordinators: registers, groups and transactions, under faults."""
