"""Metrics and health of a node, and the listener that serves them."""
