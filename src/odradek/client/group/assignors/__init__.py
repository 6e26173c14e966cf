"""Assignors of partitions to the members of a classic group."""
