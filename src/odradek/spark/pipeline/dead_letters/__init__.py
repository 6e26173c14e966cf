"""Dead letters of a pipeline: what there is, and how they are sent back to the topics they came from.

A dead-letter topic is a log, from which nothing is taken out. A consumer group of the pipeline, NAME-dead-letters, says
how far its letters have been handled: letters before the committed offset have been replayed or dropped, letters from
there on are waiting. A replay handles them chunk by chunk. Each chunk is one Kafka transaction of

1. the fixed records, produced to the topics that the letters came from;
2. letters that stay (the fix failed, or they were not selected), produced again to the end of their own partition;
3. the offset after the chunk, committed for the group.

So the committed offset is the only truth. A replay that ends in the middle of a chunk, however it ends, leaves an open
transaction behind; the next replay has the same transactional id, which aborts that transaction, and starts at the
committed offset. No letter is lost and none is sent twice, for consumers with isolation.level=read_committed.
"""
