"""A consumer group (KIP-848): its members, and what each has and should have.

Three epochs follow each other. The **group's** grows when members, subscriptions or topics change; the **target
assignment's** follows when an assignor has decided for it; each **member's** follows when it has what the target says.
From these the state follows: Empty, Assigning, Reconciling, Stable.

Only `replay_*` change a group. `owners` says which member has a partition, or has yet to give it up.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from odradek.common.failures import ApiError
from odradek.coordinator.group.consumer.assignors import NOTHING, Assignment
from odradek.coordinator.group.consumer.member import ConsumerMember, Owned
from odradek.coordinator.group.consumer.records import assignment_of, group_tombstones, with_current, with_metadata
from odradek.coordinator.group.group import CommitValidator
from odradek.coordinator.group.values import CommitAttempt, CommittedOffset, GroupType, refusal
from odradek.coordinator.runtime.shard import CoordinatorRecord
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
)
from odradek.protocol.messages.consumer_group_member_metadata_value import ConsumerGroupMemberMetadataValue
from odradek.protocol.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue
from odradek.protocol.messages.consumer_group_regular_expression_value import ConsumerGroupRegularExpressionValue
from odradek.protocol.messages.consumer_group_target_assignment_member_value import (
    ConsumerGroupTargetAssignmentMemberValue,
)
from odradek.protocol.messages.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)

#: OffsetCommit since this version has a member epoch.
_EPOCH_COMMIT_VERSION = 9


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """The topics that match a regular expression, as of a version of the metadata and a time of the wall clock."""

    topics: tuple[str, ...]
    version: int
    resolved_ms: int


@dataclass(slots=True)
class ConsumerGroup:
    """A `Group`."""

    group_id: str
    #: Above that of the target, which begins at 0, so that even a group that wants nothing gets one.
    epoch: int = 1
    metadata_hash: int = 0
    target_epoch: int = 0
    target_ms: int = 0
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    targets: dict[str, Assignment] = field(default_factory=dict)
    regexes: dict[str, ResolvedRegex] = field(default_factory=dict)
    owners: dict[tuple[bytes, int], str] = field(default_factory=dict)
    #: By the monotonic clock, when topics are looked at again even if no change was heard of. Soft state.
    refresh_at_ms: int = 0

    # Members

    def member(self, member_id: str) -> ConsumerMember:
        """Raises ApiError, UNKNOWN_MEMBER_ID."""
        member = self.members.get(member_id)
        if member is None:
            raise refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}.")
        return member

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        if instance_id is None:
            return None
        return next((member for member in self.members.values() if member.instance_id == instance_id), None)

    def known_static_member(self, member_id: str, instance_id: str) -> ConsumerMember:
        """Raises ApiError for a stranger, and for a process whose instance id somebody else has taken over."""
        member = self.static_member(instance_id)
        if member is None:
            raise refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        if member.member_id != member_id:
            raise refusal(
                ErrorCode.FENCED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}.",
            )
        return member

    def classic_members(self) -> list[ConsumerMember]:
        return [member for member in self.members.values() if member.classic is not None]

    def topics_of(self, member: ConsumerMember) -> dict[str, None]:
        """Names that it is subscribed to, there or not."""
        resolved = self.regexes.get(member.topic_regex) if member.topic_regex else None
        return dict.fromkeys((*member.topic_names, *(resolved.topics if resolved is not None else ())))

    def target_of(self, member_id: str) -> Assignment:
        return self.targets.get(member_id, NOTHING)

    def is_others(self, member_id: str) -> Callable[[bytes, int], bool]:
        """Return a predicate that tells whether a partition belongs to another member."""
        return lambda topic_id, number: self.owners.get((topic_id, number), member_id) != member_id

    # As a `Group`

    @property
    def type(self) -> GroupType:
        return GroupType.CONSUMER

    @property
    def protocol_type(self) -> str | None:
        return "consumer"

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def state_name(self) -> str:
        if not self.members:
            return "Empty"
        if self.epoch > self.target_epoch:
            return "Assigning"
        is_stable = all(member.is_reconciled_to(self.target_epoch) for member in self.members.values())
        return "Stable" if is_stable else "Reconciling"

    def validate_offset_commit(self, attempt: CommitAttempt) -> CommitValidator | None:
        epoch = attempt.generation
        if epoch < 0 and self.is_empty:
            return None
        has_no_member = epoch < 0 and not attempt.member_id and attempt.group_instance_id is None
        if attempt.is_transactional and has_no_member:
            return None
        member = self.member(attempt.member_id)
        is_old = attempt.api_version < _EPOCH_COMMIT_VERSION
        if not attempt.is_transactional and is_old and member.classic is None:
            raise refusal(
                ErrorCode.UNSUPPORTED_VERSION,
                "OffsetCommit version 9 or above must be used by members using the consumer group protocol",
            )
        if epoch == member.member_epoch:
            return None
        if epoch > member.member_epoch:
            raise stale(
                member, f"Received {_word(member)} {epoch} is newer than current member epoch {member.member_epoch}."
            )
        return _PartitionEpochs(member, epoch)

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        if member_id is None and member_epoch < 0:
            return
        member = self.member(member_id or "")
        if member_epoch != member.member_epoch:
            raise stale(
                member,
                f"The received {_word(member)} {member_epoch} does not match the expected member epoch "
                f"{member.member_epoch}.",
            )

    def validate_offset_delete(self) -> None:
        """Whoever is subscribed to a topic keeps its offsets; see `is_subscribed_to`."""

    def validate_delete(self) -> None:
        if not self.is_empty:
            raise refusal(ErrorCode.NON_EMPTY_GROUP)

    def tombstones(self) -> list[CoordinatorRecord]:
        return group_tombstones(self.group_id, self.members, self.regexes)

    def is_subscribed_to(self, topic: str) -> bool:
        return any(topic in self.topics_of(member) for member in self.members.values())

    def expiry_base_ms(self, committed: CommittedOffset) -> int | None:
        return committed.commit_timestamp_ms

    # Replay

    def replay_epoch(self, value: ConsumerGroupMetadataValue) -> None:
        self.epoch, self.metadata_hash = value.epoch, value.metadata_hash

    def replay_member(self, member_id: str, value: ConsumerGroupMemberMetadataValue | None) -> None:
        if value is None:
            self._disown(self.members.pop(member_id, ConsumerMember(member_id)))
            return
        self._change(member_id, with_metadata(value))

    def replay_current(self, member_id: str, value: ConsumerGroupCurrentMemberAssignmentValue | None) -> None:
        previous = self.members.get(member_id)
        if value is None:
            if previous is not None:
                self._disown(previous)
                empty = ConsumerMember(member_id)
                self._change(
                    member_id,
                    {
                        name: getattr(empty, name)
                        for name in ("member_epoch", "previous_epoch", "state", "assigned", "revoking")
                    },
                )
            return
        if previous is not None:
            self._disown(previous)
        self._change(member_id, with_current(value))
        member = self.members[member_id]
        for partition in _all_of(member.assigned, member.revoking):
            self.owners[partition] = member_id

    def replay_target(self, member_id: str, value: ConsumerGroupTargetAssignmentMemberValue | None) -> None:
        if value is None:
            self.targets.pop(member_id, None)
        else:
            self.targets[member_id] = assignment_of(value)

    def replay_target_epoch(self, value: ConsumerGroupTargetAssignmentMetadataValue | None) -> None:
        self.target_epoch = 0 if value is None else value.assignment_epoch
        self.target_ms = 0 if value is None else value.assignment_timestamp

    def replay_regex(self, regex: str, value: ConsumerGroupRegularExpressionValue | None) -> None:
        if value is None:
            self.regexes.pop(regex, None)
        else:
            self.regexes[regex] = ResolvedRegex(tuple(sorted(value.topics)), value.version, value.timestamp)

    def _change(self, member_id: str, changes: Mapping[str, Any]) -> None:
        self.members[member_id] = replace(self.members.get(member_id, ConsumerMember(member_id)), **changes)

    def _disown(self, member: ConsumerMember) -> None:
        for partition in _all_of(member.assigned, member.revoking):
            if self.owners.get(partition) == member.member_id:
                del self.owners[partition]


@dataclass(frozen=True, slots=True)
class _PartitionEpochs:
    """Validator of a commit in an older epoch: valid for partitions that the member has owned since then."""

    member: ConsumerMember
    epoch: int

    def __call__(self, topic: str, topic_id: bytes, partition: int) -> None:
        since = self.member.assigned.get(topic_id, {}).get(partition)
        if since is None:
            since = self.member.revoking.get(topic_id, {}).get(partition)
        if since is None:
            raise stale(self.member, f"Partition {topic}-{partition} is not assigned or pending revocation for member.")
        if self.epoch < since:
            raise stale(
                self.member,
                f"Received {_word(self.member)} {self.epoch} is older than assignment epoch {since} for partition "
                f"{topic}-{partition}.",
            )


def stale(member: ConsumerMember, message: str) -> ApiError:
    """Return the error for a stale epoch in the protocol of the member."""
    code = ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
    return refusal(code, message)


def _word(member: ConsumerMember) -> str:
    return "member epoch" if member.classic is None else "generation id"


def _all_of(*owned: Owned) -> list[tuple[bytes, int]]:
    return [
        (topic_id, number)
        for partitions_by_topic in owned
        for topic_id, numbers in partitions_by_topic.items()
        for number in numbers
    ]
