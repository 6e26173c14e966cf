"""Requests of this node to other nodes."""
