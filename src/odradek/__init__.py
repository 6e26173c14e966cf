"""Odradek: Kafka's architecture in Python.

The package imports nothing on its own: a room is loaded when it is first used, so that a command answers at once.
"""

__version__ = "0.1.0"
