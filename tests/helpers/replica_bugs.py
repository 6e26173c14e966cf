"""Mistakes that a replica could make, each planted for as long as a test looks for it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from odradek.log.unified_log import UnifiedLog
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.alter_partition_request import BrokerState
from odradek.replica import fetcher, partition, partition_reads
from odradek.replica.fetcher import Fetcher
from odradek.replica.follower_state import FollowerState
from odradek.replica.isr import IsrState
from odradek.replica.partition import Partition
from odradek.replica.partition_follow import truncate


@dataclass(frozen=True)
class Bug:
    """Attributes to replace: object, name, and what makes the new one from the old."""

    patches: tuple[tuple[Any, str, Callable[[Any], Any]], ...]
    #: Where the search begins: the rare ones take many from the start.
    first_seed: int = 0

    @contextmanager
    def planted(self) -> Iterator[None]:
        with ExitStack() as stack:
            for owner, name, change in self.patches:
                stack.enter_context(patch.object(owner, name, change(getattr(owner, name))))
            yield


def _own_end_is_enough(_: Any) -> Any:
    def maybe_increment_high_watermark(self: Partition, now_ms: int) -> bool:
        log = self.leader_log
        return log is not None and log.maybe_increment_high_watermark(log.log_end_place)

    return maybe_increment_high_watermark


def _acknowledge_at_once(original: Any) -> Any:
    def reached(self: Partition, required_offset: int) -> Any:
        return ErrorCode.NONE if self.leader_log is not None else original(self, required_offset)

    return reached


def _only_the_committed_isr(_: Any) -> Any:
    return lambda state, asked: IsrState(state.isr, state.isr, asked, state.recovery)


def _the_isr_asked_for(_: Any) -> Any:
    return lambda state, asked: IsrState(asked.isr, asked.isr, asked, state.recovery)


def _anybody_may_join(_: Any) -> Any:
    def maybe_expand_isr(self: Partition, follower: FollowerState, log: UnifiedLog) -> None:
        if not self.isr_state.is_inflight and self.context.is_isr_eligible(follower.broker_id, follower.broker_epoch):
            self._ask_for((*self.isr_state.isr, follower.broker_id))

    return maybe_expand_isr


def _cut_to_the_high_watermark(original: Any) -> Any:
    def add(self: Fetcher, wanted: Any) -> None:
        found = self._partition(wanted.topic_partition)
        truncate(found, found.local_log().high_watermark)
        original(self, wanted)

    return add


def _never_cut(_: Any) -> Any:
    return lambda partition, offset: None


def _never_diverges(_: Any) -> Any:
    return lambda log, entry: None


def _forgetful_high_watermark(original: Any) -> Any:
    """The leader reports one more than it should: what the next append will be."""

    def fetched(self: FollowerState, place: Any, *others: Any) -> None:
        original(self, place, *others)
        self.log_end_offset += 1
        self.log_end_place = place._replace(message_offset=place.message_offset + 1)

    return fetched


def _every_epoch_is_the_right_one(_: Any) -> Any:
    return lambda self, current_leader_epoch: None


def _any_epoch(_: Any) -> Any:
    def with_epoch(self: Partition, replica: int) -> BrokerState:
        return BrokerState(broker_id=replica, broker_epoch=-1)

    return with_epoch


BUGS: dict[str, Bug] = {
    "the high watermark is the leader's own end": Bug(
        ((Partition, "maybe_increment_high_watermark", _own_end_is_enough),)
    ),
    "acks all does not wait": Bug(((Partition, "reached", _acknowledge_at_once),)),
    "a replica that was asked into the isr does not count yet": Bug(
        ((partition, "pending", _only_the_committed_isr),), first_seed=58
    ),
    "a replica that was asked out of the isr does not count any more": Bug(
        ((partition, "pending", _the_isr_asked_for),)
    ),
    "a follower joins the isr before it has caught up": Bug(((Partition, "_maybe_expand_isr", _anybody_may_join),)),
    "a new follower cuts its log to its high watermark": Bug(((Fetcher, "add", _cut_to_the_high_watermark),)),
    "a follower never cuts its log": Bug(((fetcher, "truncate", _never_cut),)),
    "a leader does not see that a follower's log diverges": Bug(
        ((partition_reads, "find_divergence", _never_diverges),)
    ),
    "a leader counts a follower one record too far": Bug(((FollowerState, "fetched", _forgetful_high_watermark),)),
    "leader epochs are not checked, nor divergence": Bug(
        (
            (Partition, "_refuse_epoch", _every_epoch_is_the_right_one),
            (partition_reads, "find_divergence", _never_diverges),
        )
    ),
    "a replica that lost its disk joins as the one it was": Bug(
        ((Partition, "_with_epoch", _any_epoch),), first_seed=205
    ),
}
