"""Committed offsets of groups: the store, commits, fetches and removal."""
