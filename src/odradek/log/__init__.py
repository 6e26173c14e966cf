"""A partition's log on disk, byte for byte Kafka's: segments, indexes, recovery, compaction."""
