"""Simulated controllers: random operations, failing brokers and failing controllers, and checks of every record."""
