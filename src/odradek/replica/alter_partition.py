"""ISR changes that leaders request of the controller, gathered into AlterPartition requests.

A partition has at most one change queued or in flight, the broker at most one request. While one is in flight further
changes are queued for the next. A request that failed as a whole (no controller, stale broker epoch, lost connection)
is built again from the same changes after a back-off; a response resolves each of its partitions.

The driver calls `next_request` whenever `has_requests`, and passes the response or the failure back. The listener of
`on_ready` is called when a request has become available.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple, Protocol

from odradek.common.failures import check
from odradek.metadata.image.partition_registration import Ids, LeaderRecoveryState
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.messages import alter_partition_response
from odradek.protocol.messages.alter_partition_request import AlterPartitionRequest, PartitionData, TopicData
from odradek.protocol.messages.alter_partition_response import AlterPartitionResponse
from odradek.replica.isr import PendingIsr

logger = logging.getLogger("odradek.replica")

#: Kafka's back-off before a request that failed is sent again.
RETRY_BACKOFF_MS = 50

#: Values of the enumeration that a response may contain.
_RECOVERY_STATES = tuple(LeaderRecoveryState)


class CommittedIsr(NamedTuple):
    """The ISR of a partition as the controller has committed it."""

    leader_epoch: int
    partition_epoch: int
    isr: Ids
    leader_recovery_state: int


class IsrRequester(Protocol):
    """A partition leader that has requested a change of its ISR."""

    def isr_accepted(self, requested: PendingIsr, committed_isr: CommittedIsr) -> None: ...

    def isr_rejected(self, requested: PendingIsr, error_code: int) -> None: ...


class _QueuedChange(NamedTuple):
    requester: IsrRequester
    requested: PendingIsr
    recovery_state: int


_Key = tuple[bytes, int]


def _no_listener() -> None:
    pass


class AlterPartitionOutbox:
    def __init__(self, broker_id: int, broker_epoch: Callable[[], int]) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        #: By topic id and partition; a change stays until its partition has a response.
        self._changes: dict[_Key, _QueuedChange] = {}
        self._inflight: dict[_Key, _QueuedChange] | None = None
        self._not_before_ms: int | None = None
        self._ready_listener: Callable[[], None] = _no_listener

    def on_ready(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever there is a request to send."""
        self._ready_listener = listener

    @property
    def has_requests(self) -> bool:
        return self._inflight is None and bool(self._changes)

    @property
    def deadline_ms(self) -> int | None:
        """End of the back-off after a failed request; None without a request to send or without a back-off."""
        return self._not_before_ms if self.has_requests else None

    def submit(
        self, topic_id: bytes, partition: int, requester: IsrRequester, requested: PendingIsr, recovery_state: int = 0
    ) -> bool:
        """Queue a change. Return False if the partition still has one queued, from an earlier epoch."""
        key = (topic_id, partition)
        if key in self._changes:
            return False
        self._changes[key] = _QueuedChange(requester, requested, recovery_state)
        if self._inflight is None:
            self._ready_listener()
        return True

    def next_request(self, now_ms: int) -> AlterPartitionRequest | None:
        """Return a request to send now, or None; there is no other until it has a response or has failed."""
        if not self.has_requests or (self._not_before_ms is not None and now_ms < self._not_before_ms):
            return None
        self._not_before_ms = None
        self._inflight = dict(self._changes)
        topics: dict[bytes, TopicData] = {}
        for (topic_id, partition), change in self._inflight.items():
            if topic_id not in topics:
                topics[topic_id] = TopicData(topic_id=topic_id)
            topics[topic_id].partitions.append(
                PartitionData(
                    partition_index=partition,
                    leader_epoch=change.requested.leader_epoch,
                    new_isr_with_epochs=change.requested.with_epochs,
                    leader_recovery_state=change.recovery_state,
                    partition_epoch=change.requested.partition_epoch,
                )
            )
        return AlterPartitionRequest(
            broker_id=self._broker_id, broker_epoch=self._broker_epoch(), topics=list(topics.values())
        )

    def handle_response(self, response: AlterPartitionResponse, now_ms: int) -> None:
        if response.error_code != ErrorCode.NONE:
            logger.warning("AlterPartition failed with %s; it is sent again", error_name(response.error_code))
            self.handle_failure(now_ms)
            return
        check(self._inflight is not None, "a response to an AlterPartition request that was not sent")
        assert self._inflight is not None
        inflight, self._inflight = self._inflight, None
        for topic in response.topics:
            for partition in topic.partitions:
                key = (topic.topic_id, partition.partition_index)
                change = inflight.pop(key, None)
                if change is not None:
                    del self._changes[key]
                    _resolve(change, partition)
        if self._changes:
            self._ready_listener()

    def handle_failure(self, now_ms: int) -> None:
        """Handle a missing response, or one that has no partitions."""
        self._inflight = None
        self._not_before_ms = now_ms + RETRY_BACKOFF_MS
        if self._changes:
            self._ready_listener()


def _resolve(change: _QueuedChange, partition: alter_partition_response.PartitionData) -> None:
    requester, requested, _ = change
    if partition.error_code != ErrorCode.NONE:
        requester.isr_rejected(requested, partition.error_code)
    elif partition.leader_recovery_state not in _RECOVERY_STATES:
        requester.isr_rejected(requested, ErrorCode.UNKNOWN_SERVER_ERROR)
    else:
        recovery_state = partition.leader_recovery_state
        committed = CommittedIsr(
            partition.leader_epoch, partition.partition_epoch, tuple(partition.isr), recovery_state
        )
        requester.isr_accepted(requested, committed)
