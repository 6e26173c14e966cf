"""Removal of offsets: on request, with their group, with their topic, or by expiry.

An offset expires when its retention (`offsets.retention.minutes`) is over. Since when that counts is the group's
affair: a group with members keeps the offsets of what it is subscribed to, and one that lost its members keeps all of
them for the whole retention from then on. A group whose last offset goes by expiry goes with it, if it has no members.
"""

import logging
from collections.abc import Mapping

from odradek.common.ids import ZERO_UUID
from odradek.coordinator.group.group import Group
from odradek.coordinator.group.offsets.offset_store import OffsetKey, Offsets, OffsetTable
from odradek.coordinator.group.records import offset_commit_tombstone
from odradek.coordinator.group.store import GroupStore
from odradek.coordinator.group.values import CommittedOffset
from odradek.coordinator.runtime.shard import CoordinatorRecord, Decision
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.offset_delete_request import OffsetDeleteRequest
from odradek.protocol.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

_log = logging.getLogger("odradek.groups")


class OffsetRemovals:
    def __init__(self, store: GroupStore, offsets: Offsets) -> None:
        self._store = store
        self._offsets = offsets

    def delete(self, request: OffsetDeleteRequest) -> Decision[OffsetDeleteResponse]:
        """Raises ApiError."""
        group = self._store.group(request.group_id)
        group.validate_offset_delete()
        records: list[CoordinatorRecord] = []
        topics = []
        for topic in request.topics:
            indexes = [partition.partition_index for partition in topic.partitions]
            error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if group.is_subscribed_to(topic.name) else ErrorCode.NONE
            if error == ErrorCode.NONE:
                keys = [OffsetKey(request.group_id, topic.name, index) for index in indexes]
                records += [offset_commit_tombstone(*key) for key in keys if self._has_any(key)]
            partition_responses = [
                OffsetDeleteResponsePartition(partition_index=index, error_code=error) for index in indexes
            ]
            topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=partition_responses))
        return Decision(OffsetDeleteResponse(topics=topics), tuple(records))

    def of_group(self, group_id: str) -> list[CoordinatorRecord]:
        """Tombstones for all that it has, those of open transactions included."""
        keys = {
            OffsetKey(group_id, topic, partition): None
            for topic, partitions in self._offsets.committed.topics(group_id).items()
            for partition in partitions
        }
        keys.update(dict.fromkeys(self._offsets.unstable(group_id)))
        return [offset_commit_tombstone(*key) for key in keys]

    def of_topics(self, deleted: Mapping[bytes, str], limit: int) -> list[CoordinatorRecord]:
        """Tombstones for up to `limit` offsets of topics that are gone (names by id). Offsets of a topic that has the
        name by now stay."""
        ids = {name: topic_id for topic_id, name in deleted.items()}
        keys: dict[OffsetKey, None] = {}
        tables: list[OffsetTable] = [self._offsets.committed, *self._offsets.pending.values()]
        for table in tables:
            for key, committed in table.items():
                if key.topic in ids and committed.topic_id in (ZERO_UUID, ids[key.topic]):
                    keys[key] = None
                    if len(keys) == limit:
                        return [offset_commit_tombstone(*offset_key) for offset_key in keys]
        return [offset_commit_tombstone(*offset_key) for offset_key in keys]

    def expired(self, limit: int) -> list[CoordinatorRecord]:
        """Tombstones for what has expired by now, `limit` at most."""
        now_ms = self._store.context.clock.wall_ms()
        records: list[CoordinatorRecord] = []
        for group in self._store.groups.values():
            keys, is_all = self._expired_of(group, now_ms)
            records += [offset_commit_tombstone(*key) for key in keys]
            if is_all and group.is_empty:
                records += group.tombstones()
            if len(records) >= limit:
                break
        if records:
            _log.info("%d offsets and groups have expired", len(records[:limit]))
        return records[:limit]

    def _expired_of(self, group: Group, now_ms: int) -> tuple[list[OffsetKey], bool]:
        """And whether nothing is left then, not even for an open transaction."""
        expired: list[OffsetKey] = []
        is_all = not self._offsets.unstable(group.group_id)
        for topic, partitions in self._offsets.committed.topics(group.group_id).items():
            if group.is_subscribed_to(topic):
                is_all = False
                continue
            for partition, committed in partitions.items():
                key = OffsetKey(group.group_id, topic, partition)
                if self._is_expired(group, committed, now_ms) and not self._offsets.is_unstable(key):
                    expired.append(key)
                else:
                    is_all = False
        return expired, is_all

    def _is_expired(self, group: Group, committed: CommittedOffset, now_ms: int) -> bool:
        base_ms = group.expiry_base_ms(committed)
        if base_ms is None:
            return False
        if committed.expire_timestamp_ms is not None:
            return now_ms >= committed.expire_timestamp_ms
        return now_ms - base_ms >= self._store.settings.offsets_retention_ms

    def _has_any(self, key: OffsetKey) -> bool:
        return self._offsets.committed.get(key) is not None or self._offsets.is_unstable(key)
