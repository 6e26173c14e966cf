"""Formatting, describing and owning the directories of a node."""
