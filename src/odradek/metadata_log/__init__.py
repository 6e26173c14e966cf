"""The metadata log on disk: the quorum's log as segments, its snapshots, and the records read from it."""
