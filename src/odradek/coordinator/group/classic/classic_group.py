"""A classic group: members who agree among themselves, with the coordinator as referee.

    Empty ──► PreparingRebalance ──► CompletingRebalance ──► Stable
      ▲              │    ▲                   │                 │
      └──────────────┘    └───────────────────┴─────────────────┘

PreparingRebalance gathers joins; when all members have joined, or time is up, a generation begins and its members get
the answer to their join. CompletingRebalance waits for the leader's assignment; once that is in the log the group is
Stable. A group whose last member goes is Empty, and a group whose shard is gone is Dead.

The group knows its members and counts votes; it decides nothing about time and writes no records (see `rebalance`).
Its state is soft, except for what `records.group_metadata_record` writes when a generation is complete.
"""

import logging
from collections.abc import Iterable
from enum import Enum

from odradek.common.failures import check
from odradek.coordinator.group.classic.classic_member import ClassicMember, MemberProtocol
from odradek.coordinator.group.consumer.protocol import PROTOCOL_TYPE, subscribed_topics
from odradek.coordinator.group.records import group_metadata_tombstone
from odradek.coordinator.group.values import CommitAttempt, CommittedOffset, GroupType, refusal
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.runtime.shard import CoordinatorRecord
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.join_group_response import JoinGroupResponse, JoinGroupResponseMember
from odradek.protocol.messages.sync_group_response import SyncGroupResponse

_log = logging.getLogger("odradek.groups")


class ClassicState(Enum):
    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


#: From which states each may be entered.
_PREVIOUS = {
    ClassicState.EMPTY: (ClassicState.PREPARING_REBALANCE,),
    ClassicState.PREPARING_REBALANCE: (ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE, ClassicState.EMPTY),
    ClassicState.COMPLETING_REBALANCE: (ClassicState.PREPARING_REBALANCE,),
    ClassicState.STABLE: (ClassicState.COMPLETING_REBALANCE,),
    ClassicState.DEAD: tuple(ClassicState),
}


class ClassicGroup:
    type = GroupType.CLASSIC

    def __init__(
        self,
        group_id: str,
        state: ClassicState,
        state_timestamp_ms: int | None,
        *,
        generation: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        leader_id: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.state = state
        self.previous_state = ClassicState.DEAD
        #: When it got there, by the wall clock; None for a group out of an old log.
        self.state_timestamp_ms = state_timestamp_ms
        self.generation = generation
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader_id = leader_id
        self.members: dict[str, ClassicMember] = {}
        #: Member id by instance id.
        self.static_members: dict[str, str] = {}
        #: Got an id, and are expected to join with it. Dictionaries serve as ordered sets.
        self.pending_join: dict[str, None] = {}
        #: Of this generation, who has not asked for its assignment.
        self.pending_sync: dict[str, None] = {}
        #: Somebody came while the first rebalance of the group was being delayed.
        self.new_member_added = False
        #: None while that is not known.
        self.subscribed_topics: frozenset[str] | None = None
        self.awaiting_join_count = 0
        self._supporters: dict[str, int] = {}

    # What it is

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def is_empty(self) -> bool:
        return self.state is ClassicState.EMPTY

    @property
    def is_simple(self) -> bool:
        """It came into being by a commit of offsets and never had a member."""
        return self.protocol_type is None and self.is_empty and not self.pending_join

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == PROTOCOL_TYPE

    @property
    def can_rebalance(self) -> bool:
        return self.state in _PREVIOUS[ClassicState.PREPARING_REBALANCE]

    @property
    def rebalance_timeout_ms(self) -> int:
        """The slowest member's."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def has_all_members_joined(self) -> bool:
        return len(self.members) == self.awaiting_join_count and not self.pending_join

    def transition_to(self, state: ClassicState, wall_ms: int) -> None:
        check(self.state in _PREVIOUS[state], f"group {self.group_id} goes from {self.state_name} to {state.value}")
        self.previous_state, self.state = self.state, state
        self.state_timestamp_ms = wall_ms

    # Members

    def add(self, member: ClassicMember, awaiting_join: Reply[JoinGroupResponse] | None = None) -> None:
        if member.group_instance_id is not None:
            check(member.group_instance_id not in self.static_members, f"{member.group_instance_id} is there twice")
            self.static_members[member.group_instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        check(self.supports_protocols(member.protocol_type, member.protocols), f"{member} does not fit the group")
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._count_protocols(member, 1)
        self._await_join(member, awaiting_join)
        self.pending_join.pop(member.member_id, None)

    def remove(self, member_id: str) -> None:
        """Nothing happens if there is no such member; one that waits must have its answer by now."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count_protocols(member, -1)
            self._await_join(member, None)
            if member.group_instance_id is not None:
                self.static_members.pop(member.group_instance_id, None)
        if member_id == self.leader_id:
            self.leader_id = next(iter(self.members), None)
        self.pending_join.pop(member_id, None)
        self.pending_sync.pop(member_id, None)

    def update_member(
        self,
        member: ClassicMember,
        protocols: tuple[MemberProtocol, ...],
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        awaiting_join: Reply[JoinGroupResponse] | None,
    ) -> None:
        self._count_protocols(member, -1)
        member.protocols = protocols
        self._count_protocols(member, 1)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms
        self._await_join(member, awaiting_join)

    def replace_static_member(self, instance_id: str, old_member_id: str, new_member_id: str) -> ClassicMember:
        """Another process has taken over the instance id; the one before is fenced at once if it waits."""
        old = self.members.pop(old_member_id)
        self.complete_join(old, join_error(old_member_id, ErrorCode.FENCED_INSTANCE_ID))
        self.complete_sync(old, SyncGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))
        new = ClassicMember(
            new_member_id,
            old.group_instance_id,
            old.client_id,
            old.client_host,
            old.rebalance_timeout_ms,
            old.session_timeout_ms,
            old.protocol_type,
            old.protocols,
            old.assignment,
        )
        self.members[new_member_id] = new
        if self.leader_id == old_member_id:
            self.leader_id = new_member_id
        self.static_members[instance_id] = new_member_id
        return new

    def elect_joined_leader(self) -> bool:
        """Replace a leader that has not joined by a member that has, and return whether the leader has joined."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].awaiting_join is not None:
            return True
        for member in self.members.values():
            if member.awaiting_join is not None:
                _log.info(
                    "group %s: leader %s did not join in time, %s leads now",
                    self.group_id,
                    self.leader_id,
                    member.member_id,
                )
                self.leader_id = member.member_id
                return True
        return False

    def validate_member(self, member_id: str, instance_id: str | None) -> None:
        """Raises ApiError for a stranger, and for a process whose instance id somebody else has taken over."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                raise refusal(ErrorCode.UNKNOWN_MEMBER_ID)
            if current != member_id:
                raise refusal(ErrorCode.FENCED_INSTANCE_ID)
        if member_id not in self.members:
            raise refusal(ErrorCode.UNKNOWN_MEMBER_ID)

    # Answers

    def complete_join(self, member: ClassicMember, response: JoinGroupResponse) -> None:
        """Nothing happens if it does not wait for one."""
        reply = member.awaiting_join
        if reply is not None:
            self._await_join(member, None)
            reply.complete(response)

    def complete_sync(self, member: ClassicMember, response: SyncGroupResponse) -> bool:
        """Complete the waiting SyncGroup and return whether there was one."""
        reply, member.awaiting_sync = member.awaiting_sync, None
        if reply is None:
            return False
        reply.complete(response)
        return True

    def join_response(self, member_id: str) -> JoinGroupResponse:
        """Return the JoinGroup response for a member of this generation; the leader also gets the list of members."""
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=self.leader_id or "",
            member_id=member_id,
            members=self.response_members() if member_id == self.leader_id else [],
        )

    def response_members(self) -> list[JoinGroupResponseMember]:
        return [
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata(self.protocol_name),
            )
            for member in self.members.values()
        ]

    # Protocols

    def supports_protocols(self, protocol_type: str, protocols: Iterable[MemberProtocol]) -> bool:
        """Return whether a member with these protocols has one in common with all other members."""
        names = [protocol.name for protocol in protocols]
        if self.is_empty:
            return bool(protocol_type) and bool(names)
        return self.protocol_type == protocol_type and any(
            self._supporters.get(name, 0) == len(self.members) for name in names
        )

    def select_protocol(self) -> str:
        """Every member votes for the one it likes best of those that all support; most votes win."""
        check(bool(self.members), f"nobody in group {self.group_id} can vote")
        candidates = [name for name, count in self._supporters.items() if count == len(self.members)]
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=lambda name: votes[name])

    def begin_generation(self, wall_ms: int) -> None:
        self.generation += 1
        self.protocol_name = self.select_protocol() if self.members else None
        self.update_subscribed_topics()
        self.transition_to(ClassicState.COMPLETING_REBALANCE if self.members else ClassicState.EMPTY, wall_ms)
        self.pending_sync.clear()

    def update_subscribed_topics(self) -> None:
        """Known only of consumers, whose protocol is the one that the coordinator can read a part of."""
        self.subscribed_topics = None
        if self.uses_consumer_protocol and (self.protocol_name is not None or not self.members):
            metadata = [member.metadata(self.protocol_name) for member in self.members.values()]
            self.subscribed_topics = subscribed_topics(self.group_id, metadata)

    # Rules about its offsets

    def validate_offset_commit(self, attempt: CommitAttempt) -> None:
        if self.state is ClassicState.DEAD:
            raise refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if attempt.generation < 0 and self.is_empty:
            return  # an admin client, or a consumer that does without group management
        if attempt.generation >= 0 or attempt.member_id or attempt.group_instance_id is not None:
            self.validate_member(attempt.member_id, attempt.group_instance_id)
            if attempt.generation != self.generation:
                raise refusal(ErrorCode.ILLEGAL_GENERATION)
        elif not attempt.is_transactional and not self.is_empty:
            raise refusal(ErrorCode.UNKNOWN_MEMBER_ID)
        if not attempt.is_transactional and self.state is ClassicState.COMPLETING_REBALANCE:
            raise refusal(ErrorCode.REBALANCE_IN_PROGRESS)

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        self._refuse_dead()

    def validate_offset_delete(self) -> None:
        self._refuse_dead()
        if not self.is_empty and not self.uses_consumer_protocol:
            raise refusal(ErrorCode.NON_EMPTY_GROUP)

    def validate_delete(self) -> None:
        self._refuse_dead()
        if not self.is_empty:
            raise refusal(ErrorCode.NON_EMPTY_GROUP)

    def tombstones(self) -> list[CoordinatorRecord]:
        return [group_metadata_tombstone(self.group_id)]

    def is_subscribed_to(self, topic: str) -> bool:
        """Consumers whose subscription cannot be read may be subscribed to anything."""
        return self.uses_consumer_protocol if self.subscribed_topics is None else topic in self.subscribed_topics

    def expiry_base_ms(self, committed: CommittedOffset) -> int | None:
        if self.protocol_type is None:
            return committed.commit_timestamp_ms
        if self.is_empty:
            return committed.commit_timestamp_ms if self.state_timestamp_ms is None else self.state_timestamp_ms
        if self.uses_consumer_protocol and self.subscribed_topics is not None and self.state is ClassicState.STABLE:
            return committed.commit_timestamp_ms
        return None

    # Within

    def _refuse_dead(self) -> None:
        if self.state is ClassicState.DEAD:
            raise refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {self.group_id} is in dead state.")

    def _await_join(self, member: ClassicMember, reply: Reply[JoinGroupResponse] | None) -> None:
        self.awaiting_join_count += (reply is not None) - (member.awaiting_join is not None)
        member.awaiting_join = reply

    def _count_protocols(self, member: ClassicMember, change: int) -> None:
        for name in dict.fromkeys(protocol.name for protocol in member.protocols):  # nobody supports one twice
            self._supporters[name] = self._supporters.get(name, 0) + change


def join_error(member_id: str, code: ErrorCode) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=code, member_id=member_id)
