"""Read and verify a data directory without changing it: files, indexes, batches, snapshots, metadata."""
