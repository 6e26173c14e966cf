"""Consumer groups and their offsets: a shard per partition of `__consumer_offsets`."""
