"""The producer: records in batches by partition, idempotence, transactions.

`producer` is the public class. `sender` is the driver: it connects the pure modules to the event loop and the network.
The pure modules are `record_accumulator`, `producer_batch`, `partitioners`, `murmur2` and `batch_results` for records,
and `transaction_manager` with its owners for transactions and sequence numbers.
"""
