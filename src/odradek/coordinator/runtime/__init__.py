"""The runtime of coordinators: shards, their loading, writes, timers and replies, whatever they coordinate."""
