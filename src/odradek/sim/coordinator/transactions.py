"""Producers that fight over transactional ids while the coordinators of their transactions fail.

Of each transactional id there are several producers (`producers`): one begins, works for a while, and is
fenced when another one begins. Every transaction has an epoch of its own (version 2 of transactions), so that all its
markers and records can be told from others: markers must all say the same, and what its producer was told; of what was
committed each record is there once, in order. An epoch belongs to one producer, and whoever heard that it begins anew
can rely on it that the one before commits nothing any more.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from random import Random

from odradek.common.failures import check
from odradek.common.ids import TopicPartition
from odradek.coordinator.runtime.shard import ShardContext
from odradek.coordinator.transaction.markers import MarkerOutbox
from odradek.coordinator.transaction.settings import TransactionSettings
from odradek.coordinator.transaction.shard import TransactionShard
from odradek.metadata.features.feature_versions import TRANSACTION_VERSION
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY, MetadataImage, MetadataProvenance
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.feature_level_record import FeatureLevelRecord
from odradek.protocol.messages.partition_record import PartitionRecord
from odradek.protocol.messages.topic_record import TopicRecord
from odradek.protocol.messages.write_txn_markers_request import WritableTxnMarker, WriteTxnMarkersRequest
from odradek.protocol.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from odradek.sim.coordinator.cluster import CoordinatorCluster
from odradek.sim.coordinator.looking import load_anew, shard_of
from odradek.sim.coordinator.producers import VERSION, ProducedPartition, Producer

_TOPIC_ID = bytes(15) + b"\x01"
_PARTITIONS = [TopicPartition("t", index) for index in range(3)]


def _image() -> MetadataImage:
    delta = MetadataDelta(EMPTY)
    delta.replay(FeatureLevelRecord(name=TRANSACTION_VERSION, feature_level=VERSION))
    delta.replay(TopicRecord(name="t", topic_id=_TOPIC_ID))
    for tp in _PARTITIONS:
        delta.replay(
            PartitionRecord(
                partition_id=tp.partition,
                topic_id=_TOPIC_ID,
                replicas=[tp.partition],
                isr=[tp.partition],
                leader=tp.partition,
                leader_epoch=0,
                partition_epoch=0,
                directories=[bytes(16)],
            )
        )
    return delta.apply(MetadataProvenance())


class TransactionWorkload:
    def __init__(self, random: Random) -> None:
        self.is_over = False
        self._ids = count(1_000)
        self._image = _image()
        self._settings = TransactionSettings(abort_interval_ms=500)
        self.cluster = CoordinatorCluster(
            Random(random.getrandbits(64)),
            "__transaction_state",
            self._new_shard,
            partition_count=random.randint(1, 2),
            image=self._image,
        )
        #: By producer id and epoch: who was told that it has them.
        self.owners: dict[tuple[int, int], Producer] = {}
        #: By transactional id: the latest that somebody was told to begin with, and when.
        self.begun: dict[str, list[tuple[int, tuple[int, int], Producer]]] = {}
        #: By producer id and epoch: what its markers say, and where they are.
        self.markers: dict[tuple[int, int], bool] = {}
        self.marked: dict[tuple[int, int], dict[TopicPartition, None]] = {}
        #: By partition and producer id: the latest coordinator that was heard.
        self._coordinators: dict[tuple[TopicPartition, int], int] = {}
        #: Who it was, whether it was committed, and what it sent.
        self.ended: list[tuple[tuple[int, int], bool, dict[TopicPartition, list[bytes]]]] = []
        self.partitions = {tp: ProducedPartition() for tp in _PARTITIONS}
        self.producers = [
            Producer(self, partition_index, f"txn-{partition_index}-{index}", random.randint(50, 400))
            for partition_index in self.cluster.topic.partitions
            for index in range(random.randint(1, 2))
            for _ in range(random.randint(1, 3))
        ]

    @property
    def acks(self) -> int:
        return len(self.ended)

    def begin(self) -> None:
        for producer in self.producers:
            producer.begin()

    def progress(self) -> list[int]:
        acked = dict.fromkeys((producer.transactional_id for producer in self.producers), 0)
        for producer in self.producers:
            acked[producer.transactional_id] += producer.ended
        return list(acked.values())

    def stop(self) -> None:
        self.is_over = True

    # The brokers that markers go to

    def _new_shard(self, context: ShardContext) -> TransactionShard:
        outbox = MarkerOutbox(self.cluster.clock, lambda: self._image)
        outbox.on_ready = lambda broker: self.cluster.scheduler.after(0, lambda: self._send(outbox, broker))
        outbox.on_deadline = lambda: self.cluster.scheduler.after(60, lambda: outbox.tick(context.clock.monotonic_ms()))
        return TransactionShard(context, self._settings, lambda: next(self._ids), outbox)

    def _send(self, outbox: MarkerOutbox, broker: int) -> None:
        request = outbox.next_request(broker)
        if request is None:
            return
        random, delay_ms = self.cluster.random, self.cluster.max_delay_ms
        is_lost = random.random() < self.cluster.loss

        def arrive() -> None:
            response = self._write(request)
            self.cluster.scheduler.after(random.randint(0, delay_ms), lambda: respond(response))

        def respond(response: WriteTxnMarkersResponse) -> None:
            outbox.handle_failure(broker) if is_lost else outbox.handle_response(broker, response)
            self._send(outbox, broker)

        self.cluster.scheduler.after(random.randint(0, delay_ms), arrive)

    def _write(self, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        return WriteTxnMarkersResponse(
            markers=[
                WritableTxnMarkerResult(
                    producer_id=marker.producer_id,
                    topics=[
                        WritableTxnMarkerTopicResult(
                            name=topic.name,
                            partitions=[
                                WritableTxnMarkerPartitionResult(
                                    partition_index=index, error_code=self._mark(marker, TopicPartition("t", index))
                                )
                                for index in topic.partition_indexes
                            ],
                        )
                        for topic in marker.topics
                    ],
                )
                for marker in request.markers
            ]
        )

    def _mark(self, marker: WritableTxnMarker, tp: TopicPartition) -> int:
        latest = self._coordinators.get((tp, marker.producer_id), -1)
        if marker.coordinator_epoch < latest:
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        self._coordinators[tp, marker.producer_id] = marker.coordinator_epoch
        key, result = (marker.producer_id, marker.producer_epoch), marker.transaction_result
        previous = self.markers.setdefault(key, result)
        check(previous == result, f"transaction {key} is committed and aborted")
        self.marked.setdefault(key, {})[tp] = None
        self.partitions[tp].mark(*key)
        return ErrorCode.NONE

    # What producers tell

    def has_begun(self, producer: Producer, identity: tuple[int, int]) -> None:
        self.owned(producer, identity)
        entry = (self.cluster.scheduler.now_ms, identity, producer)
        self.begun.setdefault(producer.transactional_id, []).append(entry)

    def owned(self, producer: Producer, identity: tuple[int, int]) -> None:
        check(
            self.owners.setdefault(identity, producer) is producer,
            f"{producer.transactional_id}: two producers were told that they have {identity}",
        )

    def has_ended(self, producer: Producer, sent_ms: int, ended: tuple[int, int], is_commit: bool) -> None:
        """`before` is who the producer was in the transaction."""
        for begun_ms, identity, other in self.begun[producer.transactional_id]:
            is_fenced = other is not producer and identity > ended and begun_ms < sent_ms
            check(not is_fenced, f"{ended} ended a transaction at {sent_ms}, fenced by {identity} at {begun_ms}")
        self.ended.append((ended, is_commit, producer.sent))

    # The end

    def check(self) -> None:
        for ended, is_commit, sent in self.ended:
            next_identity, text = (
                (ended[0], ended[1] + 1),
                f"transaction {ended} was {'committed' if is_commit else 'aborted'}",
            )
            marker = self.markers.get(next_identity)
            # Of what never arrived anywhere there is nothing to mark.
            is_marked = marker is True if is_commit else marker is not True
            check(is_marked, f"{text}, and its markers say {marker}")
            for tp, values in sent.items() if is_commit else ():
                stored = self.partitions[tp].values.get(ended)
                check(stored == values, f"{text} with {values}, and {tp} has {stored}")
                check(tp in self.marked[next_identity], f"{text}, and has no marker in {tp}")
        for index in self.cluster.topic.partitions:
            live, loaded = shard_of(self.cluster, index), load_anew(self.cluster, index, self._new_shard)
            served, logged = _durable(live), _durable(loaded)
            check(served == logged, f"{index}: {served} is served, {logged} in the log")
            unfinished = [txn for txn in live.transactions() if txn.state.is_decided]
            check(not unfinished, f"{index}: {unfinished} have never been completed")


def _durable(shard: TransactionShard) -> list[str]:
    """All but the epoch before the last, which only tells retries apart and is not in the log."""
    return sorted(str(replace(txn, last_producer_epoch=-1)) for txn in shard.transactions())
