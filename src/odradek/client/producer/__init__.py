"""The producer: records go into batches of their partitions, batches into requests to the partitions' leaders.

`producer` is the public face. `accumulator`, `producer_batch`, `partitioners`, `murmur2`, `sequences` and
`transaction_manager` with `transaction_requests` are pure; `sender` connects them to the loop and the network.
"""
