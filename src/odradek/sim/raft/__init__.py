"""Simulated quorums: nodes, scenarios, swarms, and the invariants that hold throughout."""
