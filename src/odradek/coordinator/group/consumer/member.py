"""A member of a consumer group, and how it comes from what it has to what it should have (KIP-848).

A member goes to its target in steps, so that no partition ever has two owners. In its present epoch it gives up what it
must (`UNREVOKED_PARTITIONS`, until it no longer reports them); then it goes to the target's epoch and gets what is
free. What others have not given up yet comes later (`UNRELEASED_PARTITIONS`). With everything it should have it is
`STABLE`.

Every partition has the epoch in which it was assigned: a commit with an epoch since then is still good.

While a group goes from the classic protocol to this one or back, some members speak the classic one: to these the epoch
is a generation, and every step is another round of JoinGroup and SyncGroup.
"""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

from odradek.common.failures import ApiError
from odradek.coordinator.group.classic.classic_member import MemberProtocol
from odradek.coordinator.group.consumer.assignors import Assignment
from odradek.protocol.error_codes import ErrorCode

#: Partitions by topic id, with the epoch that they were assigned in.
Owned = Mapping[bytes, Mapping[int, int]]

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
#: A static member says that it will be back.
STATIC_LEAVE_EPOCH = -2


class MemberState(IntEnum):
    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127


@dataclass(frozen=True, slots=True)
class ClassicSide:
    """State that only a member with the classic protocol has."""

    session_timeout_ms: int
    #: In the order of the member's preference.
    protocols: tuple[MemberProtocol, ...]


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    member_id: str
    member_epoch: int = JOIN_EPOCH
    previous_epoch: int = JOIN_EPOCH
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    #: Sorted.
    topic_names: tuple[str, ...] = ()
    topic_regex: str | None = None
    assignor: str | None = None
    assigned: Owned = field(default_factory=dict)
    revoking: Owned = field(default_factory=dict)
    #: None: it speaks the consumer protocol.
    classic: ClassicSide | None = None

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.member_epoch == epoch

    def at(self, epoch: int) -> "ConsumerMember":
        if epoch == self.member_epoch:
            return self
        return replace(self, member_epoch=epoch, previous_epoch=self.member_epoch)

    def check_epoch(self, epoch: int, owned: Assignment | None) -> None:
        """Raises ApiError, FENCED_MEMBER_EPOCH. The epoch before is taken from a member whose last answer may have been
        lost: it has nothing that it should not have."""
        if epoch in (JOIN_EPOCH, self.member_epoch):
            return
        if epoch == self.previous_epoch and owned is not None and _is_within(owned, self.assigned):
            return
        kind = "greater" if epoch > self.member_epoch else "smaller"
        raise ApiError(
            f"The consumer group member has a {kind} member epoch ({epoch}) than the one known by the group "
            f"coordinator ({self.member_epoch}). The member must abandon all its partitions and rejoin.",
            ErrorCode.FENCED_MEMBER_EPOCH,
        )


@dataclass(frozen=True, slots=True)
class Target:
    epoch: int
    assignment: Assignment


def reconcile(
    member: ConsumerMember,
    target: Target,
    subscribed: Container[bytes],
    reported: Assignment | None,
    is_others: Callable[[bytes, int], bool],
    *,
    has_new_subscription: bool,
) -> ConsumerMember:
    """The member after its next step. `subscribed` are the topics it wants now, `reported` what it says it has (None:
    as before), `is_others` whether another member has a partition."""
    if member.state is MemberState.UNKNOWN and reported != {}:
        raise ApiError(
            "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.",
            ErrorCode.FENCED_MEMBER_EPOCH,
        )
    is_waiting = member.state is MemberState.UNREVOKED_PARTITIONS and _has_any(reported, member.revoking)
    if is_waiting or (member.state is MemberState.STABLE and member.member_epoch == target.epoch):
        return _without_unsubscribed(member, subscribed, reported) if has_new_subscription else member
    return _next_step(member, target, subscribed, reported, is_others)


def _next_step(
    member: ConsumerMember,
    target: Target,
    subscribed: Container[bytes],
    reported: Assignment | None,
    is_others: Callable[[bytes, int], bool],
) -> ConsumerMember:
    assigned: dict[bytes, dict[int, int]] = {}
    revoking: dict[bytes, dict[int, int]] = {}
    added: list[tuple[bytes, int]] = []
    is_missing_some = False
    for topic_id in dict.fromkeys((*target.assignment, *member.assigned)):
        target_partitions = target.assignment.get(topic_id, ()) if topic_id in subscribed else ()
        had = member.assigned.get(topic_id, {})
        for number, epoch in had.items():
            (assigned if number in target_partitions else revoking).setdefault(topic_id, {})[number] = epoch
        for number in target_partitions:
            if number not in had:
                if is_others(topic_id, number):
                    is_missing_some = True
                else:
                    added.append((topic_id, number))
    if revoking and _has_any(reported, revoking):
        return replace(member, state=MemberState.UNREVOKED_PARTITIONS, assigned=assigned, revoking=revoking)
    for topic_id, number in added:
        assigned.setdefault(topic_id, {})[number] = target.epoch
    state = MemberState.UNRELEASED_PARTITIONS if is_missing_some else MemberState.STABLE
    return replace(member.at(target.epoch), state=state, assigned=assigned, revoking={})


def _without_unsubscribed(
    member: ConsumerMember, subscribed: Container[bytes], reported: Assignment | None
) -> ConsumerMember:
    """Return the member without partitions of topics that it no longer subscribes to: these are revoked at once."""
    unwanted = {topic_id: numbers for topic_id, numbers in member.assigned.items() if topic_id not in subscribed}
    if not unwanted:
        return member
    assigned = {topic_id: numbers for topic_id, numbers in member.assigned.items() if topic_id not in unwanted}
    revoking = {topic_id: dict(numbers) for topic_id, numbers in member.revoking.items()}
    for topic_id, numbers in unwanted.items():
        revoking.setdefault(topic_id, {}).update(numbers)
    if _has_any(reported, revoking):
        return replace(member, state=MemberState.UNREVOKED_PARTITIONS, assigned=assigned, revoking=revoking)
    return replace(member, assigned=assigned)


def _has_any(reported: Assignment | None, owned: Owned) -> bool:
    """Somebody who does not say is taken to have everything."""
    if reported is None:
        return True
    return any(number in owned.get(topic_id, {}) for topic_id, numbers in reported.items() for number in numbers)


def _is_within(reported: Assignment, owned: Owned) -> bool:
    return all(number in owned.get(topic_id, {}) for topic_id, numbers in reported.items() for number in numbers)
