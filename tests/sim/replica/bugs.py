"""Mistakes that a replica could make, each planted for as long as a test looks for it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from odradek.common.ids import TopicPartition
from odradek.log.values import EpochEndOffset
from odradek.metadata.image.partition_registration import PartitionRegistration
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_response import PartitionData
from odradek.replica import fetch, partition_leader
from odradek.replica.fetcher import FetchState, FollowerFetcher
from odradek.replica.follower_state import FollowerState
from odradek.replica.isr import IsrState, rolled_back
from odradek.replica.partition import Partition
from odradek.replica.partition_follower import PartitionFollower, truncation_offset
from odradek.replica.partition_leader import PartitionLeader


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
    def advance_high_watermark(self: PartitionLeader, now_ms: int) -> bool:
        return self.log.offsets.raise_high_watermark(self.log.reader.log_end_position)

    return advance_high_watermark


def _acknowledge_at_once(_: Any) -> Any:
    return lambda self, required_offset: ErrorCode.NONE


def _only_the_committed_isr(_: Any) -> Any:
    return lambda state, requested: IsrState(state.isr, state.isr, requested, state.recovery)


def _the_isr_asked_for(_: Any) -> Any:
    return lambda state, requested: IsrState(requested.isr, requested.isr, requested, state.recovery)


def _anybody_may_join(_: Any) -> Any:
    def maybe_expand_isr(self: PartitionLeader, follower: FollowerState) -> None:
        if not self.isr_state.is_inflight and self._view.is_isr_eligible(follower.broker_id, follower.broker_epoch):
            self._request_isr((*self.isr_state.isr, follower.broker_id))

    return maybe_expand_isr


def _cut_to_the_high_watermark(original: Any) -> Any:
    def add(self: FollowerFetcher, source: Any) -> None:
        follower = self._follower(source.topic_partition)
        follower.truncate(follower.log.offsets.high_watermark)
        original(self, source)

    return add


def _never_cut(_: Any) -> Any:
    return lambda self, offset: None


def _never_diverges(_: Any) -> Any:
    return lambda log, entry: None


def _forgetful_high_watermark(original: Any) -> Any:
    """The leader reports one more than it should: what the next append will be."""

    def fetched(self: FollowerState, log_end: Any, *others: Any) -> None:
        original(self, log_end, *others)
        self.log_end_offset += 1
        self.log_end = log_end._replace(message_offset=log_end.message_offset + 1)

    return fetched


def _every_epoch_is_the_right_one(_: Any) -> Any:
    return lambda self, current_leader_epoch: None


def _metadata_forgets_what_was_asked(original: Any) -> Any:
    """As Kafka does: metadata that the controller's answer has overtaken takes back what was asked for since."""

    def become_leader(self: Partition, registration: PartitionRegistration, is_new: bool) -> bool:
        role = self.role
        is_pending = isinstance(role, PartitionLeader) and role.isr_state.pending is not None
        if is_pending and registration.partition_epoch == role.partition_epoch:
            role.isr_state = rolled_back(role.isr_state)
        advanced: bool = original(self, registration, is_new)
        return advanced

    return become_leader


def _keep_what_the_leader_deleted(_: Any) -> Any:
    """As Kafka does: a leader that has deleted an epoch says that it ended where its log starts now."""

    def truncate_diverging(self: FollowerFetcher, tp: TopicPartition, state: FetchState, data: PartitionData) -> None:
        follower = self._follower(tp)
        leader_end = EpochEndOffset(data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
        follower.truncate(truncation_offset(follower.log, leader_end))
        state.fetch_from_end(follower.log)

    return truncate_diverging


BUGS: dict[str, Bug] = {
    "the high watermark is the leader's own end": Bug(
        ((PartitionLeader, "advance_high_watermark", _own_end_is_enough),)
    ),
    "acks all does not wait": Bug(((PartitionLeader, "reached", _acknowledge_at_once),)),
    "a replica that was asked into the isr does not count yet": Bug(
        ((partition_leader, "pending", _only_the_committed_isr),), first_seed=58
    ),
    "a replica that was asked out of the isr does not count any more": Bug(
        ((partition_leader, "pending", _the_isr_asked_for),)
    ),
    "a follower joins the isr before it has caught up": Bug(
        ((PartitionLeader, "_maybe_expand_isr", _anybody_may_join),)
    ),
    "a new follower cuts its log to its high watermark": Bug(((FollowerFetcher, "add", _cut_to_the_high_watermark),)),
    "a follower never cuts its log": Bug(((PartitionFollower, "truncate", _never_cut),)),
    "a leader does not see that a follower's log diverges": Bug(((fetch, "find_divergence", _never_diverges),)),
    "a leader counts a follower one record too far": Bug(((FollowerState, "fetched", _forgetful_high_watermark),)),
    "leader epochs are not checked, nor divergence": Bug(
        (
            (Partition, "_reject_epoch", _every_epoch_is_the_right_one),
            (fetch, "find_divergence", _never_diverges),
        )
    ),
    "metadata that is old news takes back what was asked for": Bug(
        ((Partition, "become_leader", _metadata_forgets_what_was_asked),), first_seed=440
    ),
    "a follower keeps what the leader has deleted": Bug(
        ((FollowerFetcher, "_truncate_diverging", _keep_what_the_leader_deleted),), first_seed=210
    ),
}
