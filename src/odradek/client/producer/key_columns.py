"""Where many keys go at once: MurmurHash2 over whole columns, the same as `odradek.client.producer.murmur2`."""

import numpy as np
from numpy.typing import NDArray

from odradek.client.producer.murmur2 import partition_for_key
from odradek.records.column_batches import BinaryColumn

Int32s = NDArray[np.int32]

#: Of a record without a key: it may go anywhere.
NO_KEY = -1


def partitions_for_keys(keys: BinaryColumn, partition_count: int) -> Int32s:
    """One for each key, as Kafka's default partitioner has it; NO_KEY for those that are null."""
    offsets, view = keys.offsets.tolist(), memoryview(keys.data)
    found = [partition_for_key(bytes(view[offsets[i] : offsets[i + 1]]), partition_count) for i in range(len(keys))]
    partitions = np.array(found, np.int32)
    if keys.valid is not None:
        partitions[~keys.valid] = NO_KEY
    return partitions
