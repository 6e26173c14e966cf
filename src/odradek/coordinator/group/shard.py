"""The groups of one partition of `__consumer_offsets`, of every kind, and their offsets.

Which group is here follows from its id (`keys.partition_for`). An operation goes to the kind of group that is found:
`join`, `sync`, `heartbeat` and `leave` are the classic protocol's, and a group of another kind answers them itself or
is no group to them. Offsets are kept for all kinds alike (`offset_commit`, `offset_fetch`, `offset_removal`).
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, TypeVar

from odradek.common.failures import ApiError
from odradek.coordinator.group.classic.classic_group import ClassicGroup, ClassicState, join_error
from odradek.coordinator.group.classic.classic_member import EMPTY_ASSIGNMENT
from odradek.coordinator.group.classic.heartbeat import heartbeat
from odradek.coordinator.group.classic.join import Joining, Joins
from odradek.coordinator.group.classic.leave import leave
from odradek.coordinator.group.classic.rebalance import Rebalances
from odradek.coordinator.group.classic.sync import Syncs
from odradek.coordinator.group.consumer.changes import ConsumerChanges
from odradek.coordinator.group.consumer.classic import ClassicConsumers
from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.consumer.groups import ConsumerGroups
from odradek.coordinator.group.consumer.listing import describe_consumer_group
from odradek.coordinator.group.consumer.replay import CONSUMER_REPLAYS
from odradek.coordinator.group.listing import describe_classic_group, list_groups
from odradek.coordinator.group.offsets.offset_commit import OffsetCommits
from odradek.coordinator.group.offsets.offset_fetch import OffsetFetches
from odradek.coordinator.group.offsets.offset_removal import OffsetRemovals
from odradek.coordinator.group.offsets.offset_store import OffsetKey, Offsets
from odradek.coordinator.group.settings import GroupSettings
from odradek.coordinator.group.store import GroupStore
from odradek.coordinator.group.values import CommittedOffset, RequestContext, refusal
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.runtime.serde import first_batch
from odradek.coordinator.runtime.shard import CoordinatorRecord, Decision, ShardContext
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import MetadataImage
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages import consumer_group_describe_response as consumer_description
from odradek.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from odradek.protocol.messages.describe_groups_response import DescribedGroup
from odradek.protocol.messages.group_metadata_key import GroupMetadataKey
from odradek.protocol.messages.heartbeat_request import HeartbeatRequest
from odradek.protocol.messages.heartbeat_response import HeartbeatResponse
from odradek.protocol.messages.join_group_request import JoinGroupRequest
from odradek.protocol.messages.join_group_response import JoinGroupResponse
from odradek.protocol.messages.leave_group_request import LeaveGroupRequest
from odradek.protocol.messages.leave_group_response import LeaveGroupResponse
from odradek.protocol.messages.legacy_offset_commit_key import LegacyOffsetCommitKey
from odradek.protocol.messages.legacy_offset_commit_value import LegacyOffsetCommitValue
from odradek.protocol.messages.list_groups_response import ListedGroup
from odradek.protocol.messages.offset_commit_key import OffsetCommitKey
from odradek.protocol.messages.offset_commit_request import OffsetCommitRequest
from odradek.protocol.messages.offset_commit_response import OffsetCommitResponse
from odradek.protocol.messages.offset_commit_value import OffsetCommitValue
from odradek.protocol.messages.offset_delete_request import OffsetDeleteRequest
from odradek.protocol.messages.offset_delete_response import OffsetDeleteResponse
from odradek.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup
from odradek.protocol.messages.offset_fetch_response import OffsetFetchResponseGroup
from odradek.protocol.messages.sync_group_request import SyncGroupRequest
from odradek.protocol.messages.sync_group_response import SyncGroupResponse
from odradek.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from odradek.protocol.messages.txn_offset_commit_response import TxnOffsetCommitResponse

_log = logging.getLogger("odradek.groups")

Answer = TypeVar("Answer")

#: Tombstones in one batch: with ids and names of usual length they fit (see `first_batch`).
_TOMBSTONES_AT_ONCE: Final = 1_000

_EXPIRY_TIMER: Final = "expire-group-metadata"
_TOPICS_TIMER: Final = "on-topics-deleted"


class GroupShard:
    """A `Shard`."""

    def __init__(self, context: ShardContext, settings: GroupSettings) -> None:
        self.store = GroupStore(context, settings)
        self.offsets = Offsets()
        self.rebalances = Rebalances(self.store)
        self._timers = context.timers
        self._joins = Joins(self.store, self.rebalances)
        self._syncs = Syncs(self.store, self.rebalances)
        self._commits = OffsetCommits(self.store, self.rebalances)
        self._fetches = OffsetFetches(self.store, self.offsets)
        self._removals = OffsetRemovals(self.store, self.offsets)
        self._consumer_changes = ConsumerChanges(self.store, self.rebalances)
        self._consumers = ConsumerGroups(self.store, self._consumer_changes)
        self._classic_consumers = ClassicConsumers(self.store, self._consumer_changes)
        #: Names by id, of topics whose offsets are to go.
        self._deleted_topics: dict[bytes, str] = {}
        #: By the kind of key. A further kind of group adds its own.
        self._replays: dict[type[Message], Callable[[int, int, Any, Any], None]] = {
            LegacyOffsetCommitKey: self._replay_offset,
            OffsetCommitKey: self._replay_offset,
            GroupMetadataKey: lambda _, __, key, value: self.store.replay_group_metadata(key.group, value),
        }

    # The classic protocol

    def join(self, context: RequestContext, request: JoinGroupRequest) -> Decision[Reply[JoinGroupResponse]]:
        """The answer comes now, or when the others have joined, too."""
        joining, settings = Joining(context, request), self.store.settings
        if not request.group_id:
            return _with_reply(joining.reply, joining.refuse(ErrorCode.INVALID_GROUP_ID))
        if not settings.min_session_timeout_ms <= request.session_timeout_ms <= settings.max_session_timeout_ms:
            return _with_reply(joining.reply, joining.refuse(ErrorCode.INVALID_SESSION_TIMEOUT))
        group = self.store.groups.get(request.group_id)
        if isinstance(group, ConsumerGroup) and not group.is_empty:
            return _as_reply(self._classic_consumers.join(group, joining))
        return _with_reply(joining.reply, self._join(joining))

    def sync(self, request: SyncGroupRequest) -> Decision[Reply[SyncGroupResponse]]:
        """The answer comes now, or when the leader's assignment is written."""
        reply: Reply[SyncGroupResponse] = Reply()
        group = self.store.groups.get(request.group_id)
        if isinstance(group, ConsumerGroup) and not group.is_empty:
            return _as_reply(self._classic_consumers.sync(group, request))
        if not isinstance(group, ClassicGroup) or group.is_empty:
            reply.complete(SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
            return Decision(reply)
        return _with_reply(reply, self._syncs.sync(group, request, reply))

    def heartbeat(self, request: HeartbeatRequest) -> Decision[HeartbeatResponse]:
        group = self.store.groups.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            return self._classic_consumers.heartbeat(group, request)
        return Decision(heartbeat(self.rebalances, self._classic_group(request.group_id), request))

    def leave(self, request: LeaveGroupRequest) -> Decision[LeaveGroupResponse]:
        group = self.store.groups.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            return self._classic_consumers.leave(group, request)
        return leave(self.rebalances, self._classic_group(request.group_id), request)

    # The consumer protocol

    def consumer_heartbeat(
        self, context: RequestContext, request: ConsumerGroupHeartbeatRequest
    ) -> Decision[ConsumerGroupHeartbeatResponse]:
        return self._consumers.heartbeat(context, request)

    def describe_consumer_group(self, group_id: str) -> consumer_description.DescribedGroup:
        """Raises ApiError."""
        group = self._consumer_changes.group(group_id)
        return describe_consumer_group(group, self._consumer_changes.assignor_of(group), self.store.context.image())

    # Offsets

    def commit_offsets(self, request: OffsetCommitRequest, api_version: int) -> Decision[OffsetCommitResponse]:
        return self._commits.commit(request, api_version)

    def commit_transactional_offsets(
        self, request: TxnOffsetCommitRequest, api_version: int
    ) -> Decision[TxnOffsetCommitResponse]:
        return self._commits.commit_transactional(request, api_version)

    def fetch_offsets(self, request: OffsetFetchRequestGroup, require_stable: bool) -> OffsetFetchResponseGroup:
        return self._fetches.fetch(request, require_stable)

    def delete_offsets(self, request: OffsetDeleteRequest) -> Decision[OffsetDeleteResponse]:
        return self._removals.delete(request)

    # Groups of all kinds

    def list_groups(self, states: Iterable[str], types: Iterable[str]) -> list[ListedGroup]:
        return list_groups(self.store, states, types)

    def describe_group(self, group_id: str, api_version: int) -> DescribedGroup:
        """A classic one; others are not found."""
        return describe_classic_group(self.store, group_id, api_version)

    def delete_group(self, group_id: str) -> Decision[None]:
        """Delete a group with its offsets. Raises ApiError."""
        group = self.store.group(group_id)
        group.validate_delete()
        _log.info("group %s is deleted", group_id)
        return Decision(None, (*self._removals.of_group(group_id), *group.tombstones()))

    # What the runtime calls

    def replay(self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord) -> None:
        """Records of kinds that are not known yet are kept by the log and ignored here."""
        replay = self._replays.get(type(record.key))
        if type(record.key) in CONSUMER_REPLAYS:
            self.store.replay_consumer_record(record)
        elif replay is not None:
            replay(offset, producer_id, record.key, record.value)

    def replay_end_of_transaction(self, producer_id: int, producer_epoch: int, is_committed: bool) -> None:
        self.offsets.end_transaction(producer_id, is_committed)

    def on_loaded(self) -> None:
        self._schedule_expiry(self.store.settings.offsets_retention_check_interval_ms)
        for group in list(self.store.groups.values()):
            if isinstance(group, ClassicGroup):
                self._begin_again(group)
        self._consumers.on_loaded()

    def on_unloaded(self) -> None:
        for group in self.store.groups.values():
            if isinstance(group, ClassicGroup):
                _end(group, self.store.context.clock.wall_ms())

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        if delta.topics is not None:
            self._consumers.on_topics_changed()
        if delta.topics is not None and delta.topics.deleted:
            self._deleted_topics.update(delta.topics.deleted)
            self._timers.schedule(_TOPICS_TIMER, 0, self._remove_offsets_of_deleted_topics)

    # Within

    def _join(self, joining: Joining) -> Decision[None]:
        group = self.store.groups.get(joining.request.group_id)
        decision = self._joins.join(joining)
        if not isinstance(group, ConsumerGroup) or not decision.records:
            return decision
        # An empty consumer group has become a classic one.
        return replace(
            decision,
            records=(*group.tombstones(), *decision.records),
            on_done=lambda error: self._end_change(group, decision, error),
        )

    def _end_change(self, former: ConsumerGroup, decision: Decision[None], error: ApiError | None) -> None:
        """Restore the former group if the records could not be written."""
        if decision.on_done is not None:
            decision.on_done(error)
        if error is not None:
            self.store.groups.setdefault(former.group_id, former)

    def _classic_group(self, group_id: str) -> ClassicGroup:
        """Raises ApiError: who is in no such group is not known."""
        group = self.store.classic_group(group_id)
        if group is None:
            raise refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Group {group_id} not found.")
        return group

    def _replay_offset(self, offset: int, producer_id: int, key: Any, value: Any) -> None:
        """An offset of a group that is not there makes it a simple one."""
        offset_key = OffsetKey(key.group, key.topic, key.partition)
        if value is None:
            self.offsets.remove(offset_key)
            return
        if key.group not in self.store.groups:
            self.store.create_classic_group(key.group)
        self.offsets.put(offset_key, _committed(value, offset), producer_id)

    def _begin_again(self, group: ClassicGroup) -> None:
        """Members have a whole session to be heard by the new coordinator."""
        for member in group.members.values():
            self.rebalances.begin_session(group, member)
        if len(group.members) > self.store.settings.max_size:
            self.rebalances.prepare(group, f"{len(group.members)} members are more than group.max.size allows")
        elif group.members and all(member.assignment == EMPTY_ASSIGNMENT for member in group.members.values()):
            self.rebalances.prepare(group, "nothing is assigned to anybody")

    def _schedule_expiry(self, delay_ms: int) -> None:
        self._timers.schedule(_EXPIRY_TIMER, delay_ms, self._expire)

    def _expire(self) -> Decision[None]:
        tombstones = self._removals.expired(_TOMBSTONES_AT_ONCE)
        records = first_batch(tombstones)
        self._schedule_expiry(self.store.settings.offsets_retention_check_interval_ms)

        def on_done(error: ApiError | None) -> None:
            if error is None and (len(records) < len(tombstones) or len(records) == _TOMBSTONES_AT_ONCE):
                self._schedule_expiry(0)

        return Decision(None, records, on_done=on_done)

    def _remove_offsets_of_deleted_topics(self) -> Decision[None]:
        deleted = list(self._deleted_topics)
        tombstones = self._removals.of_topics(self._deleted_topics, _TOMBSTONES_AT_ONCE)
        records = first_batch(tombstones)

        def on_done(error: ApiError | None) -> None:
            if error is not None:
                return  # the timer is tried again
            if len(records) < len(tombstones) or len(records) == _TOMBSTONES_AT_ONCE:
                self._timers.schedule(_TOPICS_TIMER, 0, self._remove_offsets_of_deleted_topics)
                return
            for topic_id in deleted:
                self._deleted_topics.pop(topic_id, None)

        return Decision(None, records, on_done=on_done)


def _committed(value: OffsetCommitValue | LegacyOffsetCommitValue, record_offset: int) -> CommittedOffset:
    if isinstance(value, LegacyOffsetCommitValue):
        return CommittedOffset(value.offset, -1, value.metadata, value.commit_timestamp, record_offset=record_offset)
    return CommittedOffset(
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        None if value.expire_timestamp == -1 else value.expire_timestamp,
        value.topic_id,
        record_offset,
    )


def _with_reply(reply: Reply[Answer], decision: Decision[None]) -> Decision[Reply[Answer]]:
    """The decision's records make the state durable; who asked waits for the reply."""
    return Decision(reply, decision.records, decision.is_replayed, decision.on_done)


def _as_reply(decision: Decision[Answer]) -> Decision[Reply[Answer]]:
    """The answer is there when the records are."""
    return Decision(Reply.of(decision.answer), decision.records, decision.is_replayed, decision.on_done)


def _end(group: ClassicGroup, wall_ms: int) -> None:
    """Whoever waits looks for the new coordinator."""
    group.transition_to(ClassicState.DEAD, wall_ms)
    for member in group.members.values():
        group.complete_join(member, join_error(member.member_id, ErrorCode.NOT_COORDINATOR))
        group.complete_sync(member, SyncGroupResponse(error_code=ErrorCode.NOT_COORDINATOR))
