"""Interface that all types of groups share, for offsets, lists and deletion.

Groups of all kinds live in one dictionary, `GroupStore.groups`, by their id: a group changes its kind by being replaced
there. Each kind keeps its own rules about who may commit, read and delete what; those who store offsets ask here.
"""

from typing import Protocol

from odradek.coordinator.group.values import CommitAttempt, CommittedOffset, GroupType
from odradek.coordinator.runtime.shard import CoordinatorRecord


class CommitValidator(Protocol):
    def __call__(self, topic: str, topic_id: bytes, partition: int) -> None:
        """Raises ApiError where the member may not commit for this partition."""
        ...


class Group(Protocol):
    @property
    def group_id(self) -> str: ...

    @property
    def type(self) -> GroupType: ...

    @property
    def state_name(self) -> str:
        """Kafka's word for its state, as tools show it."""
        ...

    @property
    def protocol_type(self) -> str | None: ...

    @property
    def is_empty(self) -> bool:
        """It has no members; its offsets may outlive them."""
        ...

    def validate_offset_commit(self, attempt: CommitAttempt) -> CommitValidator | None:
        """None: for any partition. Raises ApiError where the group does not take this commit at all."""
        ...

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Raises ApiError."""
        ...

    def validate_offset_delete(self) -> None:
        """Raises ApiError."""
        ...

    def validate_delete(self) -> None:
        """Raises ApiError."""
        ...

    def tombstones(self) -> list[CoordinatorRecord]:
        """The records that make the log forget it (its offsets excepted)."""
        ...

    def is_subscribed_to(self, topic: str) -> bool:
        """If so, offsets of the topic neither expire nor may be deleted."""
        ...

    def expiry_base_ms(self, committed: CommittedOffset) -> int | None:
        """Since when, by the wall clock, retention of an offset counts; None: it does not expire for now."""
        ...
