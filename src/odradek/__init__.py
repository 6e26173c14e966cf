"""Odradek: Kafka's architecture in Python.

Importing the package imports nothing else: a sub-package is loaded when it is first used, so that commands start
quickly.
"""

__version__ = "0.1.0"
