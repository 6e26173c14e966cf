"""The quorum: Raft as Kafka's controllers speak it (KRaft), as a core without clock, sockets or files.

Where to begin: `raft` is what a driver calls, `events` and `effects` are what goes in and comes out, `storage.raft_log`
is the port to the replicated log, `states.transitions` holds the states and every legal move between them. docs/raft.md
follows one election, one commit and one snapshot message by message.
"""
