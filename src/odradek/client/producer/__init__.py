"""The producer: records go into batches of their partitions, batches into requests to the partitions' leaders.

`producer` is the public face. `record_accumulator`, `producer_batch`, `partitioners`, `murmur2`, `batch_sequences`
and `transaction_manager` with `transaction_requests` are pure; `sender` connects them to the loop and the network.
"""
