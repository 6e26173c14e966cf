"""Mistakes that a replica could make, each planted for as long as a test looks for it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from odradek.common.ids import TopicPartition
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import EpochEndOffset
from odradek.metadata.image.partition_registration import PartitionRegistration
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_response import PartitionData
from odradek.replica import fetcher, partition, partition_reads
from odradek.replica.fetcher import Fetcher, FetchState
from odradek.replica.follower_state import FollowerState
from odradek.replica.isr import IsrState, rolled_back
from odradek.replica.partition import Partition
from odradek.replica.partition_follow import truncate, truncation_offset


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
        return log is not None and log.offsets.raise_high_watermark(log.reader.log_end_position)

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
        truncate(found, found.local_log().offsets.high_watermark)
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


def _metadata_forgets_what_was_asked(original: Any) -> Any:
    """As Kafka does: metadata that the controller's answer has overtaken takes back what was asked for since."""

    def make_leader(self: Partition, registration: PartitionRegistration, is_new: bool) -> bool:
        if registration.partition_epoch == self.partition_epoch and self.isr_state.pending is not None:
            self.isr_state = rolled_back(self.isr_state)
        moved: bool = original(self, registration, is_new)
        return moved

    return make_leader


def _keep_what_the_leader_deleted(_: Any) -> Any:
    """As Kafka does: a leader that has deleted an epoch says that it ended where its log starts now."""

    def diverges(self: Fetcher, tp: TopicPartition, state: FetchState, data: PartitionData) -> None:
        found = self._partition(tp)
        leader_end = EpochEndOffset(data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
        truncate(found, truncation_offset(found.local_log(), leader_end))
        self._read_on(tp, state)

    return diverges


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
    "metadata that is old news takes back what was asked for": Bug(
        ((Partition, "make_leader", _metadata_forgets_what_was_asked),), first_seed=440
    ),
    "a follower keeps what the leader has deleted": Bug(
        ((Fetcher, "_diverges", _keep_what_the_leader_deleted),), first_seed=210
    ),
}
