"""Producers that fight over transactional ids while the coordinators of their transactions fail.

Of each transactional id there are several producers: one begins, works for a while, and is fenced when another one
begins. Every transaction has an epoch of its own (version 2 of transactions), so that all its markers can be told from
others: they must all say the same, and what its producer was told. An epoch belongs to one producer, and whoever heard
that it begins anew can rely on it that the one before commits nothing any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any

from odradek.common.failures import ApiError, check
from odradek.common.ids import TopicPartition
from odradek.coordinator.reply import Reply
from odradek.coordinator.runtime import CoordinatorRuntime
from odradek.coordinator.shard import Decision, ShardContext
from odradek.coordinator.transaction.ending import EndRequest
from odradek.coordinator.transaction.markers import MarkerOutbox
from odradek.coordinator.transaction.settings import TransactionSettings
from odradek.coordinator.transaction.shard import Identity, TransactionShard
from odradek.metadata.delta import MetadataDelta
from odradek.metadata.feature_versions import TRANSACTION_VERSION
from odradek.metadata.image import EMPTY, MetadataImage, MetadataProvenance
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
from odradek.sim.coordinator_cluster import WRITE_TIMEOUT_MS, CoordinatorCluster
from odradek.sim.coordinator_looking import load_anew, shard_of

_VERSION = 2
_TOPIC_ID = bytes(15) + b"\x01"
_PLACES = [TopicPartition("t", number) for number in range(3)]
_TIMEOUT_MS = 2_000
_RETRY_MS = 20
#: A producer that is told so is not the one any more; or its transaction took too long, which comes to the same.
_FENCED = (
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
)


def _image() -> MetadataImage:
    delta = MetadataDelta(EMPTY)
    delta.replay(FeatureLevelRecord(name=TRANSACTION_VERSION, feature_level=_VERSION))
    delta.replay(TopicRecord(name="t", topic_id=_TOPIC_ID))
    for place in _PLACES:
        delta.replay(
            PartitionRecord(
                partition_id=place.partition,
                topic_id=_TOPIC_ID,
                replicas=[place.partition],
                isr=[place.partition],
                leader=place.partition,
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
        self.ended: list[tuple[tuple[int, int], bool, tuple[TopicPartition, ...]]] = []
        self.producers = [
            Producer(self, number, f"txn-{number}-{each}", random.randint(50, 400))
            for number in self.cluster.topic.partitions
            for each in range(random.randint(1, 2))
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
            self.cluster.scheduler.after(random.randint(0, delay_ms), lambda: answer(response))

        def answer(response: WriteTxnMarkersResponse) -> None:
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
                                    partition_index=number, error_code=self._mark(marker, TopicPartition("t", number))
                                )
                                for number in topic.partition_indexes
                            ],
                        )
                        for topic in marker.topics
                    ],
                )
                for marker in request.markers
            ]
        )

    def _mark(self, marker: WritableTxnMarker, place: TopicPartition) -> int:
        latest = self._coordinators.get((place, marker.producer_id), -1)
        if marker.coordinator_epoch < latest:
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        self._coordinators[place, marker.producer_id] = marker.coordinator_epoch
        key, result = (marker.producer_id, marker.producer_epoch), marker.transaction_result
        before = self.markers.setdefault(key, result)
        check(before == result, f"transaction {key} is committed and aborted")
        self.marked.setdefault(key, {})[place] = None
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

    def has_ended(self, producer: Producer, sent_ms: int, after: tuple[int, int], is_commit: bool) -> None:
        for begun_ms, identity, other in self.begun[producer.transactional_id]:
            is_fenced = other is not producer and identity >= after and begun_ms < sent_ms
            check(not is_fenced, f"{after} ended a transaction at {sent_ms}, fenced by {identity} at {begun_ms}")
        self.ended.append((after, is_commit, producer.places))

    # The end

    def check(self) -> None:
        for after, is_commit, places in self.ended:
            said = f"transaction {after} was {'committed' if is_commit else 'aborted'}"
            check(self.markers.get(after) == is_commit, f"{said}, and its markers say {self.markers.get(after)}")
            missing = [place for place in places if place not in self.marked[after]]
            check(not missing, f"{said}, and has no markers in {missing}")
        for number in self.cluster.topic.partitions:
            live, loaded = shard_of(self.cluster, number), load_anew(self.cluster, number, self._new_shard)
            served, logged = _durable(live), _durable(loaded)
            check(served == logged, f"{number}: {served} is served, {logged} in the log")
            open_ones = [one for one in live.transactions() if one.state.is_decided]
            check(not open_ones, f"{number}: {open_ones} have never been completed")


def _durable(shard: TransactionShard) -> list[str]:
    """All but the epoch before the last, which only tells retries apart and is not in the log."""
    return sorted(str(replace(one, last_producer_epoch=-1)) for one in shard.transactions())


class Producer:
    def __init__(self, world: TransactionWorkload, number: int, transactional_id: str, pause_ms: int) -> None:
        self.transactional_id = transactional_id
        self.places: tuple[TopicPartition, ...] = ()
        self.ended = 0
        self._world = world
        self._cluster = world.cluster
        self._number = number
        self._pause_ms = pause_ms
        self._identity = (-1, -1)

    def begin(self) -> None:
        if not self._world.is_over:
            self._ask(lambda shard: shard.init_producer_id(self.transactional_id, _TIMEOUT_MS), self._begun)

    def _begun(self, outcome: Identity | ApiError) -> None:
        if isinstance(outcome, ApiError) or outcome.error_code:
            self._later(_RETRY_MS, self.begin)
            return
        self._identity = (outcome.producer_id, outcome.producer_epoch)
        self._world.has_begun(self, self._identity)
        self._next()

    def _next(self) -> None:
        """A transaction: partitions, and its end; before version 2 they were added by the client as well."""
        if self._world.is_over:
            return
        self.places = tuple(self._cluster.random.sample(_PLACES, self._cluster.random.randint(1, 2)))
        producer_id, epoch = self._identity
        self._ask(
            lambda shard: shard.add_partitions(self.transactional_id, producer_id, epoch, self.places, _VERSION),
            lambda outcome: self._or_again(outcome, self._end_some_time, self._next),
        )

    def _end_some_time(self, _: Any) -> None:
        is_commit = self._cluster.random.random() < 0.7
        self._later(self._cluster.random.randint(0, self._pause_ms), lambda: self._end(is_commit))

    def _end(self, is_commit: bool, first_sent_ms: int | None = None) -> None:
        """Asked for until it is known: it may have been decided although the answer got lost."""
        sent_ms = self._cluster.scheduler.now_ms if first_sent_ms is None else first_sent_ms
        request = EndRequest(*self._identity, is_commit, _VERSION)
        self._ask(
            lambda shard: shard.end(self.transactional_id, request),
            lambda outcome: self._or_again(
                outcome,
                lambda identity: self._done(identity, is_commit, sent_ms),
                lambda: self._end(is_commit, sent_ms),
            ),
        )

    def _done(self, outcome: Identity, is_commit: bool, sent_ms: int) -> None:
        self._identity = (outcome.producer_id, outcome.producer_epoch)
        self._world.owned(self, self._identity)
        self._world.has_ended(self, sent_ms, self._identity, is_commit)
        self.ended += 1
        self._later(self._cluster.random.randint(1, self._pause_ms), self._next)

    def _or_again(self, outcome: Any, then: Callable[[Any], None], again: Callable[[], None]) -> None:
        if not isinstance(outcome, ApiError):
            then(outcome)
        elif outcome.code in _FENCED:
            self._later(self._cluster.random.randint(200, 3_000), self.begin)
        else:
            self._later(_RETRY_MS, again)

    def _later(self, delay_ms: int, action: Callable[[], None]) -> None:
        self._cluster.scheduler.after(delay_ms, action)

    def _ask(self, operation: Callable[[TransactionShard], Decision[Any]], then: Callable[[Any], None]) -> None:
        def ask(runtime: CoordinatorRuntime[TransactionShard]) -> Reply[Any]:
            return runtime.write(self._number, operation, timeout_ms=WRITE_TIMEOUT_MS)

        def heard(outcome: Any) -> None:
            now_ms = self._cluster.scheduler.now_ms
            self._cluster.scheduler.trace(f"{now_ms} {self.transactional_id} {self._identity} {outcome}")
            then(outcome)

        self._cluster.ask(self._number, ask, heard)
