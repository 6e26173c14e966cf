"""Blocking connections for processes that read large ranges and do nothing else: no loop, no thread, no group."""
