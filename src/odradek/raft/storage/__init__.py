"""Storage of the quorum: the port to its log, batches, control records, snapshots and the quorum state file."""
