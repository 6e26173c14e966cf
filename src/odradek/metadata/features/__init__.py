"""Levels of `metadata.version` and of the other features."""
