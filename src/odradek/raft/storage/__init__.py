"""What the quorum stores: the port to its log, batches, control records, snapshots and the quorum state file."""
