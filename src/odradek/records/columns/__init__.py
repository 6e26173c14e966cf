"""Whole chunks of batches as columns."""
