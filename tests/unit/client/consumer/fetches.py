"""What Fetch brings, for tests of the consumer: chunks of batches, and what a partition's response is made of."""

from collections.abc import Sequence

from odradek.client.consumer.completed_fetch import CompletedFetch, RecordDecoding
from odradek.client.consumer.partition_state import FetchPosition
from odradek.client.consumer.subscriptions import Subscriptions
from odradek.client.net.metadata_cache import LeaderAndEpoch
from odradek.client.settings.settings import OffsetReset, ResetStrategy
from odradek.client.types import TopicPartition
from odradek.protocol.messages.fetch_response import AbortedTransaction, PartitionData
from odradek.records.batch import Compression
from odradek.records.builder import BatchBuilder, end_transaction_marker
from support.builders.records import Made, build

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
LEADER = LeaderAndEpoch(1, 5)


def values(*texts: bytes, base_offset: int = 0, codec: Compression = Compression.NONE) -> bytes:
    """One batch of these values."""
    return build([Made(1_000, b"key", text) for text in texts], codec, base_offset)


def transactional(producer_id: int, base_offset: int, *texts: bytes) -> bytes:
    builder = BatchBuilder(
        base_offset=base_offset, producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    for text in texts:
        builder.append(1_000, None, text)
    return builder.build()


def marker(producer_id: int, offset: int, *, committed: bool) -> bytes:
    return end_transaction_marker(
        commit=committed,
        timestamp=1_000,
        producer_id=producer_id,
        producer_epoch=0,
        coordinator_epoch=0,
        base_offset=offset,
    )


def partition_data(*batches: bytes, aborted: Sequence[tuple[int, int]] = (), error_code: int = 0) -> PartitionData:
    return PartitionData(
        error_code=error_code,
        high_watermark=100,
        last_stable_offset=90,
        log_start_offset=0,
        aborted_transactions=[AbortedTransaction(producer_id=who, first_offset=first) for who, first in aborted],
        records=b"".join(batches),
    )


def at_positions(*offsets: int, reset: ResetStrategy = ResetStrategy.EARLIEST) -> Subscriptions:
    """Partitions a-0, a-1 and so on, each at its offset."""
    subscriptions = Subscriptions(OffsetReset(reset))
    subscriptions.assign([TopicPartition("a", number) for number in range(len(offsets))])
    for partition, offset in zip(subscriptions.partitions(), offsets, strict=True):
        subscriptions.seek(partition, FetchPosition(offset, None, LEADER))
    return subscriptions


def completed(
    subscriptions: Subscriptions,
    data: PartitionData,
    partition: TopicPartition = A0,
    reading: RecordDecoding | None = None,
    offset: int | None = None,
) -> CompletedFetch:
    """As if asked for at the partition's position, unless an offset is given."""
    state = subscriptions.assigned_state(partition)
    assert state.position is not None
    at = state.position.offset if offset is None else offset
    return CompletedFetch(partition, state, state.generation, at, data, reading or RecordDecoding())
