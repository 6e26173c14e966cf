"""Listeners and connections: bytes from sockets to handlers, and answers back, within limits."""
