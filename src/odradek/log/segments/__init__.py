"""Segments of a log: one segment with its indexes, and the list of the segments of one log."""
