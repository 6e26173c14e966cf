"""Record batches: building, reading, checking, compressing, and whole chunks of them as columns."""
