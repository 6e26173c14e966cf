"""OffsetCommit and TxnOffsetCommit: from what a client asks to records.

Whether a member may commit is the group's affair. A group that is not there is no obstacle for somebody who claims no
generation: replay makes a simple one of the first offset.
"""

from odradek.common.failures import ApiError
from odradek.common.ids import ZERO_UUID
from odradek.coordinator.group.classic.classic_group import ClassicGroup, ClassicState
from odradek.coordinator.group.classic.rebalance import Rebalances
from odradek.coordinator.group.group import CommitValidator
from odradek.coordinator.group.records import offset_commit_record
from odradek.coordinator.group.store import GroupStore
from odradek.coordinator.group.values import CommitAttempt, CommittedOffset, group_not_found, refusal
from odradek.coordinator.runtime.shard import CoordinatorRecord, Decision
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.offset_commit_request import OffsetCommitRequest, OffsetCommitRequestPartition
from odradek.protocol.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition
from odradek.protocol.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

#: The record has eight bytes for it.
_LAST_TIMESTAMP_MS = 2**63 - 1
#: The first version whose clients understand that a group is not there.
_GROUP_NOT_FOUND_VERSION = 9


class OffsetCommits:
    def __init__(self, store: GroupStore, rebalances: Rebalances) -> None:
        self._store = store
        self._rebalances = rebalances

    def commit(self, request: OffsetCommitRequest, api_version: int) -> Decision[OffsetCommitResponse]:
        """Raises ApiError where nothing of it is taken."""
        validator = self._validate(request, api_version)
        now_ms = self._store.context.clock.wall_ms()
        expires_ms = None
        if request.retention_time_ms != -1:
            expires_ms = min(now_ms + request.retention_time_ms, _LAST_TIMESTAMP_MS)
        records: list[CoordinatorRecord] = []
        topics = []
        for topic in request.topics:
            topic_responses = []
            for partition in topic.partitions:
                error = self._metadata_error(partition.committed_metadata)
                topic_responses.append(
                    OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=error)
                )
                if error == ErrorCode.NONE:
                    if validator is not None:
                        validator(topic.name, topic.topic_id, partition.partition_index)
                    committed = _committed(partition, now_ms, expires_ms, topic.topic_id)
                    records.append(
                        offset_commit_record(request.group_id, topic.name, partition.partition_index, committed)
                    )
            topics.append(
                OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=topic_responses)
            )
        return Decision(OffsetCommitResponse(topics=topics), tuple(records))

    def commit_transactional(
        self, request: TxnOffsetCommitRequest, api_version: int
    ) -> Decision[TxnOffsetCommitResponse]:
        """Likewise. The records count when the transaction is committed; its writer is named to the runtime."""
        validator = self._validate_transactional(request, api_version)
        now_ms = self._store.context.clock.wall_ms()
        records: list[CoordinatorRecord] = []
        topics = []
        for topic in request.topics:
            topic_responses = []
            for partition in topic.partitions:
                error = self._metadata_error(partition.committed_metadata)
                topic_responses.append(
                    TxnOffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=error)
                )
                if error == ErrorCode.NONE:
                    self._validate_partition(validator, topic.name, partition.partition_index)
                    # Kafka writes no topic id with these.
                    committed = _committed(partition, now_ms, None, ZERO_UUID)
                    records.append(
                        offset_commit_record(request.group_id, topic.name, partition.partition_index, committed)
                    )
            topics.append(
                TxnOffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=topic_responses)
            )
        return Decision(TxnOffsetCommitResponse(topics=topics), tuple(records))

    def _validate(self, request: OffsetCommitRequest, api_version: int) -> CommitValidator | None:
        generation = request.generation_id_or_member_epoch
        group = self._store.groups.get(request.group_id)
        if group is None:
            if generation < 0:
                return None
            if api_version >= _GROUP_NOT_FOUND_VERSION:
                raise group_not_found(request.group_id)
            raise refusal(ErrorCode.ILLEGAL_GENERATION)
        attempt = CommitAttempt(request.member_id, request.group_instance_id, generation, False, api_version)
        validator = group.validate_offset_commit(attempt)
        if isinstance(group, ClassicGroup) and group.state in (
            ClassicState.STABLE,
            ClassicState.PREPARING_REBALANCE,
        ):
            # Who commits is there: a commit is as good as a heartbeat.
            self._rebalances.begin_session(group, group.members[request.member_id])
        return validator

    def _validate_transactional(self, request: TxnOffsetCommitRequest, api_version: int) -> CommitValidator | None:
        generation = request.generation_id_or_member_epoch
        group = self._store.groups.get(request.group_id)
        if group is None:
            if generation < 0:
                return None
            raise refusal(ErrorCode.ILLEGAL_GENERATION)
        attempt = CommitAttempt(request.member_id, request.group_instance_id, generation, True, api_version)
        try:
            return group.validate_offset_commit(attempt)
        except ApiError as error:
            raise _for_producers(error) from error

    def _validate_partition(self, validator: CommitValidator | None, topic: str, partition: int) -> None:
        if validator is None:
            return
        topic_image = self._store.context.image().topics.by_name.get(topic)
        if topic_image is None:
            raise refusal(ErrorCode.ILLEGAL_GENERATION)
        try:
            validator(topic, topic_image.id, partition)
        except ApiError as error:
            raise _for_producers(error) from error

    def _metadata_error(self, metadata: str | None) -> ErrorCode:
        is_too_large = metadata is not None and len(metadata) > self._store.settings.offset_metadata_max_size
        return ErrorCode.OFFSET_METADATA_TOO_LARGE if is_too_large else ErrorCode.NONE


def _committed(
    partition: OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition,
    now_ms: int,
    expires_ms: int | None,
    topic_id: bytes,
) -> CommittedOffset:
    return CommittedOffset(
        partition.committed_offset,
        partition.committed_leader_epoch,
        partition.committed_metadata or "",
        now_ms,
        expires_ms,
        topic_id,
    )


def _for_producers(error: ApiError) -> ApiError:
    """Producers know nothing of member epochs."""
    return refusal(ErrorCode.ILLEGAL_GENERATION) if error.code == ErrorCode.STALE_MEMBER_EPOCH else error
