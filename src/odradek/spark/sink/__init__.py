"""Writes rows to topics: writers of batches and streams, their options, columns and tasks."""
