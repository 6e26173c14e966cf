"""Compaction: which logs and segments are cleaned, which records are retained, and the rewritten segments."""
