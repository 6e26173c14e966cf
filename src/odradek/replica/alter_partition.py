"""What leaders ask of the controller about their ISRs, gathered into AlterPartition requests.

A partition has at most one change waiting or in flight, the broker at most one request. While one is in flight further
changes gather for the next. A request that failed as a whole (no controller, stale broker epoch, lost connection) is
made anew after a back-off from the same changes; one that was answered settles each of its partitions.

The driver asks `next_request` whenever `wants_to_send`, and hands back the answer or the failure. `on_ready` is called
when there is something to send that was not there before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple, Protocol

from odradek.common.failures import check
from odradek.metadata.image.partition_registration import Ids, LeaderRecoveryState
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.messages.alter_partition_request import AlterPartitionRequest, PartitionData, TopicData
from odradek.protocol.messages.alter_partition_response import AlterPartitionResponse
from odradek.replica.isr import PendingIsr

logger = logging.getLogger("odradek.replica")

#: Kafka's pause before a request that failed is sent again.
RETRY_BACKOFF_MS = 50

#: Values of the enumeration that an answer may name.
_RECOVERY_STATES = tuple(LeaderRecoveryState)


class IsrDecided(NamedTuple):
    """The controller's word about a partition."""

    leader_epoch: int
    partition_epoch: int
    isr: Ids
    leader_recovery_state: int


class IsrAsker(Protocol):
    """A partition that has asked."""

    def isr_decided(self, asked: PendingIsr, decided: IsrDecided) -> None: ...

    def isr_refused(self, asked: PendingIsr, error_code: int) -> None: ...


class _Item(NamedTuple):
    asker: IsrAsker
    asked: PendingIsr
    recovery_state: int


_Key = tuple[bytes, int]


def _nobody() -> None:
    pass


class AlterPartitionOutbox:
    def __init__(self, broker_id: int, broker_epoch: Callable[[], int]) -> None:
        self.broker_id = broker_id
        self._broker_epoch = broker_epoch
        #: By topic id and partition; an item stays until its partition is answered.
        self._items: dict[_Key, _Item] = {}
        self._inflight: dict[_Key, _Item] | None = None
        self._not_before_ms: int | None = None
        self.on_ready: Callable[[], None] = _nobody

    @property
    def wants_to_send(self) -> bool:
        return self._inflight is None and bool(self._items)

    @property
    def deadline_ms(self) -> int | None:
        """When a request that failed may be sent again; None if there is none to send, or no need to wait."""
        return self._not_before_ms if self.wants_to_send else None

    def submit(
        self, topic_id: bytes, partition: int, asker: IsrAsker, asked: PendingIsr, recovery_state: int = 0
    ) -> bool:
        """False if the partition already has a change under way, from an epoch that is over."""
        key = (topic_id, partition)
        if key in self._items:
            return False
        self._items[key] = _Item(asker, asked, recovery_state)
        if self._inflight is None:
            self.on_ready()
        return True

    def next_request(self, now_ms: int) -> AlterPartitionRequest | None:
        """To send now, if there is anything; then nothing until it is answered or has failed."""
        if not self.wants_to_send or (self._not_before_ms is not None and now_ms < self._not_before_ms):
            return None
        self._not_before_ms = None
        self._inflight = dict(self._items)
        topics: dict[bytes, TopicData] = {}
        for (topic_id, partition), item in self._inflight.items():
            if topic_id not in topics:
                topics[topic_id] = TopicData(topic_id=topic_id)
            topics[topic_id].partitions.append(
                PartitionData(
                    partition_index=partition,
                    leader_epoch=item.asked.leader_epoch,
                    new_isr_with_epochs=item.asked.with_epochs,
                    leader_recovery_state=item.recovery_state,
                    partition_epoch=item.asked.partition_epoch,
                )
            )
        return AlterPartitionRequest(
            broker_id=self.broker_id, broker_epoch=self._broker_epoch(), topics=list(topics.values())
        )

    def handle_response(self, response: AlterPartitionResponse, now_ms: int) -> None:
        if response.error_code != ErrorCode.NONE:
            logger.warning("AlterPartition was refused with %s; it is sent again", error_name(response.error_code))
            self.handle_failure(now_ms)
            return
        check(self._inflight is not None, "an answer to an AlterPartition that was not sent")
        assert self._inflight is not None
        inflight, self._inflight = self._inflight, None
        for topic in response.topics:
            for answer in topic.partitions:
                key = (topic.topic_id, answer.partition_index)
                item = inflight.pop(key, None)
                if item is None:
                    continue
                del self._items[key]
                if answer.error_code == ErrorCode.NONE and answer.leader_recovery_state not in _RECOVERY_STATES:
                    item.asker.isr_refused(item.asked, ErrorCode.UNKNOWN_SERVER_ERROR)
                elif answer.error_code == ErrorCode.NONE:
                    decided = IsrDecided(
                        answer.leader_epoch, answer.partition_epoch, tuple(answer.isr), answer.leader_recovery_state
                    )
                    item.asker.isr_decided(item.asked, decided)
                else:
                    item.asker.isr_refused(item.asked, answer.error_code)
        if self._items:
            self.on_ready()

    def handle_failure(self, now_ms: int) -> None:
        """No answer came, or none that says anything about the partitions."""
        self._inflight = None
        self._not_before_ms = now_ms + RETRY_BACKOFF_MS
        if self._items:
            self.on_ready()
