"""OffsetFetch: the offsets that a group has committed, of some partitions or of all."""

from odradek.common.failures import ApiError
from odradek.common.ids import ZERO_UUID
from odradek.coordinator.group.offsets.offset_store import OffsetKey, Offsets, OffsetTable
from odradek.coordinator.group.store import GroupStore
from odradek.coordinator.group.values import CommittedOffset
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from odradek.protocol.messages.offset_fetch_response import (
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

_NO_OFFSET = -1


class OffsetFetches:
    def __init__(self, store: GroupStore, offsets: Offsets) -> None:
        self._store = store
        self._offsets = offsets

    def fetch(self, request: OffsetFetchRequestGroup, require_stable: bool) -> OffsetFetchResponseGroup:
        """A group that is not there has no offsets. Raises ApiError for a member that may not ask."""
        table = self._offsets.committed if self._is_there(request) else OffsetTable()
        if request.topics is None:
            return OffsetFetchResponseGroup(group_id=request.group_id, topics=self._all(table, request, require_stable))
        topics = [self._topic(table, request.group_id, topic, require_stable) for topic in request.topics]
        return OffsetFetchResponseGroup(group_id=request.group_id, topics=topics)

    def _is_there(self, request: OffsetFetchRequestGroup) -> bool:
        try:
            group = self._store.group(request.group_id)
            group.validate_offset_fetch(request.member_id, request.member_epoch)
        except ApiError as error:
            if error.code != ErrorCode.GROUP_ID_NOT_FOUND:
                raise
            return False
        return True

    def _topic(
        self, table: OffsetTable, group_id: str, topic: OffsetFetchRequestTopics, require_stable: bool
    ) -> OffsetFetchResponseTopics:
        keys = [OffsetKey(group_id, topic.name, index) for index in topic.partition_indexes]
        return OffsetFetchResponseTopics(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[self._answer(key, _of_topic(table.get(key), topic.topic_id), require_stable) for key in keys],
        )

    def _all(
        self, table: OffsetTable, request: OffsetFetchRequestGroup, require_stable: bool
    ) -> list[OffsetFetchResponseTopics]:
        return [
            OffsetFetchResponseTopics(
                name=topic,
                partitions=[
                    self._answer(OffsetKey(request.group_id, topic, index), committed, require_stable)
                    for index, committed in partitions.items()
                ],
            )
            for topic, partitions in table.topics(request.group_id).items()
        ]

    def _answer(
        self, key: OffsetKey, committed: CommittedOffset | None, require_stable: bool
    ) -> OffsetFetchResponsePartitions:
        if require_stable and self._offsets.is_unstable(key):
            return _none(key.partition, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        if committed is None:
            return _none(key.partition)
        return OffsetFetchResponsePartitions(
            partition_index=key.partition,
            committed_offset=committed.offset,
            committed_leader_epoch=committed.leader_epoch,
            metadata=committed.metadata,
        )


def _none(partition: int, error: ErrorCode = ErrorCode.NONE) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=partition, committed_offset=_NO_OFFSET, metadata="", error_code=error
    )


def _of_topic(committed: CommittedOffset | None, topic_id: bytes) -> CommittedOffset | None:
    """An offset of a topic that had the name before is none of this topic's."""
    if committed is None or ZERO_UUID in (committed.topic_id, topic_id) or committed.topic_id == topic_id:
        return committed
    return None
