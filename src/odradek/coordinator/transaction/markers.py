"""Markers on their way to the partitions of decided transactions.

A decision is final once it is committed in the coordinator's log; from then on every partition must get its marker,
however often leaders change. `add` spreads a transaction over the leaders of its partitions; a driver sends each broker
one request at a time (`next_request`, then `handle_response` or `handle_failure`). What was refused for now, or has no
leader, is spread anew a little later. A partition that is no longer there needs no marker. When the last one is written
`on_written` is told.

A new coordinator of the same partition sends the markers again by itself (they are written twice at most, which
changes nothing), so those of a partition that is lost are dropped.
"""

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from odradek.common.ids import TopicPartition
from odradek.common.ports import Clock
from odradek.coordinator.transaction.states import TransactionState
from odradek.coordinator.transaction.transaction import Transaction
from odradek.metadata.image.image import MetadataImage
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from odradek.protocol.messages.write_txn_markers_response import WriteTxnMarkersResponse

logger = logging.getLogger("odradek.transactions")

#: A leader that is known to be gone has a successor soon.
_RETRY_MS = 50
#: In one request to a broker: a marker is about a hundred bytes, so this stays far below any limit.
_MARKERS_AT_ONCE = 1_000

#: The marker is there, or nothing waits for it in that partition.
_SETTLED = (ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION)
#: Another coordinator, or a newer producer, has overtaken this one: the transaction is theirs.
_OVERTAKEN = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)


@dataclass(slots=True, eq=False)
class _Job:
    coordinator_partition: int
    coordinator_epoch: int
    transaction: Transaction
    on_written: Callable[[], None]
    #: Partitions without their marker.
    waiting: dict[TopicPartition, None]
    is_dropped: bool = False


@dataclass(frozen=True, slots=True)
class _Share:
    """Part of a job that one broker carries out."""

    job: _Job
    partitions: tuple[TopicPartition, ...]


@dataclass(slots=True)
class _Queue:
    shares: deque[_Share] = field(default_factory=deque)
    #: In the request that is on its way.
    sent: list[_Share] = field(default_factory=list)


class MarkerOutbox:
    def __init__(self, clock: Clock, image: Callable[[], MetadataImage]) -> None:
        self._clock = clock
        self._image = image
        self._queues: dict[int, _Queue] = {}
        self._later: deque[tuple[int, _Share]] = deque()
        #: Told of a broker that there is something to send to.
        self.on_ready: Callable[[int], None] = lambda broker_id: None
        #: Told that `deadline_ms` has come nearer.
        self.on_deadline: Callable[[], None] = lambda: None

    def add(
        self, coordinator_partition: int, coordinator_epoch: int, decided: Transaction, on_written: Callable[[], None]
    ) -> None:
        job = _Job(coordinator_partition, coordinator_epoch, decided, on_written, dict.fromkeys(decided.partitions))
        self._spread(_Share(job, decided.partitions))
        self._finish_if_done(job)

    def drop(self, coordinator_partition: int) -> None:
        """Its leadership is gone."""
        shares = [share for _, share in self._later]
        for queue in self._queues.values():
            shares += [*queue.shares, *queue.sent]
        for share in shares:
            if share.job.coordinator_partition == coordinator_partition:
                share.job.is_dropped = True

    @property
    def deadline_ms(self) -> int | None:
        return self._later[0][0] if self._later else None

    def tick(self, now_ms: int) -> None:
        while self._later and self._later[0][0] <= now_ms:
            share = self._later.popleft()[1]
            if not share.job.is_dropped:
                self._spread(share)
                self._finish_if_done(share.job)

    # A broker's requests, one at a time

    def next_request(self, broker_id: int) -> WriteTxnMarkersRequest | None:
        """None if there is nothing for it, or a request is on its way."""
        queue = self._queues.get(broker_id)
        if queue is None or queue.sent:
            return None
        while queue.shares and len(queue.sent) < _MARKERS_AT_ONCE:
            share = queue.shares.popleft()
            if not share.job.is_dropped:
                queue.sent.append(share)
        if not queue.sent:
            return None
        return WriteTxnMarkersRequest(markers=[_marker(share) for share in queue.sent])

    def handle_failure(self, broker_id: int) -> None:
        """No answer came. The leader may be another one by now."""
        for share in self._take_sent(broker_id):
            self._retry(share)

    def handle_response(self, broker_id: int, response: WriteTxnMarkersResponse) -> None:
        results = {result.producer_id: result for result in response.markers}
        for share in self._take_sent(broker_id):
            result = results.get(share.job.transaction.producer_id)
            errors = {
                TopicPartition(topic.name, partition.partition_index): partition.error_code
                for topic in (result.topics if result is not None else ())
                for partition in topic.partitions
            }
            self._settle(share, errors)

    def _settle(self, share: _Share, errors: dict[TopicPartition, int]) -> None:
        job, rejected = share.job, []
        for partition in share.partitions:
            code = errors.get(partition, ErrorCode.UNKNOWN_SERVER_ERROR)
            if code in _SETTLED:
                job.waiting.pop(partition, None)
                continue
            if code in _OVERTAKEN:
                job.is_dropped = True
            rejected.append(partition)
            logger.info(
                "%s: the marker for %s was refused with %s%s",
                *(job.transaction.transactional_id, partition, error_name(code)),
                "; it is somebody else's now" if job.is_dropped else "",
            )
        if rejected:
            self._retry(_Share(job, tuple(rejected)))
        self._finish_if_done(job)

    def _take_sent(self, broker_id: int) -> list[_Share]:
        queue = self._queues[broker_id]
        sent, queue.sent = queue.sent, []
        return [share for share in sent if not share.job.is_dropped]

    def _retry(self, share: _Share) -> None:
        if not share.job.is_dropped:
            self._later.append((self._clock.monotonic_ms() + _RETRY_MS, share))
            self.on_deadline()

    # Leaders

    def _spread(self, share: _Share) -> None:
        by_leader: dict[int, list[TopicPartition]] = {}
        for partition in share.partitions:
            leader = self._leader_of(partition)
            if leader is None:
                logger.info("%s is gone, and needs no marker of %s", partition, share.job.transaction.transactional_id)
                share.job.waiting.pop(partition, None)
            else:
                by_leader.setdefault(leader, []).append(partition)
        for leader, partitions in by_leader.items():
            part = _Share(share.job, tuple(partitions))
            if leader < 0:
                self._retry(part)
                continue
            self._queues.setdefault(leader, _Queue()).shares.append(part)
            self.on_ready(leader)

    def _leader_of(self, tp: TopicPartition) -> int | None:
        """-1 for a partition without one, None for one that is not there."""
        topic = self._image().topics.by_name.get(tp.topic)
        partition = None if topic is None else topic.partitions.get(tp.partition)
        return None if partition is None else int(partition.leader)

    def _finish_if_done(self, job: _Job) -> None:
        if not job.waiting and not job.is_dropped:
            job.is_dropped = True
            job.on_written()


def _marker(share: _Share) -> WritableTxnMarker:
    transaction, by_topic = share.job.transaction, dict[str, list[int]]()
    for topic, partition in share.partitions:
        by_topic.setdefault(topic, []).append(partition)
    return WritableTxnMarker(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_result=transaction.state is TransactionState.PREPARE_COMMIT,
        topics=[WritableTxnMarkerTopic(name=name, partition_indexes=ids) for name, ids in by_topic.items()],
        coordinator_epoch=share.job.coordinator_epoch,
        transaction_version=transaction.version,
    )
