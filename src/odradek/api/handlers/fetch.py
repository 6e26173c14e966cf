"""Fetch (key 1) on a broker: records for consumers, and for followers, who report their progress by it.

v4 isolation levels (KIP-98) · v5 log start offset · v7 sessions (KIP-227) · v9 leader epochs (KIP-320) · v11 rack and
preferred replica (KIP-392) · v12 flexible, diverging epochs (KIP-595) · v13 topic ids (KIP-516) · v15 the follower's
epoch (KIP-903) · v16 where the leader is (KIP-951) · v17 directory ids (KIP-853) · v18 the reader's high watermark
(KIP-1166)

Records are read from the file when the answer is made, a range each, and not looked into but for damage. A fetch that
finds too little waits in the purgatory, and is forgotten when its connection goes.

Authorised by READ on each topic, or CLUSTER_ACTION on the cluster for a follower.
"""

import asyncio
from collections.abc import Container, Iterator, Sequence

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.registry import Answer
from odradek.api.shared.leader_hints import LeaderHints
from odradek.api.shared.refusals import only_allowed, with_refused
from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from odradek.replica.fetch_session import Answered, FetchContext, SessionKey
from odradek.replica.values import FetchCallback, FetchEntry, FetchParams, FetchResult, Isolation
from odradek.security.authorizer import ALLOW_ALL, EVERYTHING
from odradek.security.resources import CLUSTER, Operation, ResourceType

_FIRST_VERSION_WITH_PREFERRED_REPLICA = 11
_FIRST_VERSION_WITH_IDS = 13
_FIRST_VERSION_WITH_REPLICA_STATE = 15
_FIRST_VERSION_WITH_LEADER = 16

_REFUSED = FetchResult(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
#: In an entry, of a topic id that is no topic's.
_NO_NAME = ""
_READ_COMMITTED = 1
_ISOLATION_LEVELS = (0, _READ_COMMITTED)
#: Errors before a replica is asked: Kafka has a list without transactions then, and otherwise none.
_ERRORS_OF_REQUEST = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)
#: Errors after which a reader looks for another leader.
_ERRORS_OF_LEADERSHIP = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def handle(ctx: Context, request: FetchRequest) -> "Answer | asyncio.Future[Answer]":
    replica_id, replica_epoch = _follower(request, ctx.api_version)
    sessions = ctx.replicas.sessions
    context = sessions.open(
        request.session_id,
        request.session_epoch,
        ctx.api_version,
        replica_id >= 0,
        list(_entries(ctx, request)),
        _forgotten(request, ctx.api_version),
        ctx.topic_name,
    )
    if context.error_code:
        return FetchResponse(error_code=context.error_code, session_id=context.session_id)
    fetching = _Fetching(ctx, context)
    entries: Sequence[FetchEntry] = context.entries
    answer: FetchCallback = fetching.answer
    if ctx.services.authorizer is not ALLOW_ALL:
        entries, answer = _authorized(ctx, entries, answer, is_follower=replica_id >= 0)
    if not entries:
        answer([])
    else:
        ctx.replicas.fetch(_params(ctx, request, replica_id, replica_epoch), entries, answer)
    if fetching.response is not None:
        return fetching.response
    fetching.later = asyncio.get_running_loop().create_future()
    ctx.services.began_to_wait()
    return fetching.later


def _authorized(
    ctx: Context, entries: Sequence[FetchEntry], answer: FetchCallback, *, is_follower: bool
) -> tuple[Sequence[FetchEntry], FetchCallback]:
    """What may be read, and how to answer for all of it. Of an id that is no topic's a consumer is told so."""
    if is_follower:
        allowed: Container[str] = EVERYTHING if ctx.may(Operation.CLUSTER_ACTION, CLUSTER) else ()
    else:
        names = {entry.topic_partition.topic for entry in entries if entry.topic_partition.topic}
        allowed = {
            _NO_NAME,
            *(name for name in names if name in ctx.allowed(Operation.READ, ResourceType.TOPIC, names)),
        }
    return only_allowed(entries, allowed), lambda found: answer(list(with_refused(entries, allowed, found, _REFUSED)))


def _follower(request: FetchRequest, version: int) -> tuple[int, int]:
    if version < _FIRST_VERSION_WITH_REPLICA_STATE:
        return request.replica_id, -1
    return request.replica_state.replica_id, request.replica_state.replica_epoch


def _params(ctx: Context, request: FetchRequest, replica_id: int, replica_epoch: int) -> FetchParams:
    if request.isolation_level not in _ISOLATION_LEVELS:
        raise ApiError(f"Unknown isolation level {request.isolation_level}", ErrorCode.UNKNOWN_SERVER_ERROR)
    isolation = Isolation.HIGH_WATERMARK
    if replica_id >= 0:
        isolation = Isolation.LOG_END
    elif request.isolation_level == _READ_COMMITTED:
        isolation = Isolation.TXN_COMMITTED
    max_bytes = min(request.max_bytes, ctx.services.fetch_max_bytes)
    return FetchParams(
        max_wait_ms=request.max_wait_ms,
        min_bytes=min(request.min_bytes, max_bytes),
        max_bytes=max_bytes,
        isolation=isolation,
        replica_id=replica_id,
        replica_epoch=replica_epoch,
        client_rack=request.rack_id,
        # Also for -2, with which kafka-replica-verification reads every replica.
        may_read_follower=replica_id < 0 and ctx.api_version >= _FIRST_VERSION_WITH_PREFERRED_REPLICA,
    )


def _entries(ctx: Context, request: FetchRequest) -> Iterator[FetchEntry]:
    by_id = ctx.api_version >= _FIRST_VERSION_WITH_IDS
    for topic in request.topics:
        name = (ctx.topic_name(topic.topic_id) or "") if by_id else topic.topic
        for partition in topic.partitions:
            yield FetchEntry(
                TopicPartition(name, partition.partition),
                topic.topic_id,
                partition.fetch_offset,
                partition.partition_max_bytes,
                partition.current_leader_epoch,
                partition.last_fetched_epoch,
                partition.log_start_offset,
            )


def _forgotten(request: FetchRequest, version: int) -> Iterator[SessionKey]:
    for topic in request.forgotten_topics_data:
        for partition in topic.partitions:
            yield (topic.topic_id if version >= _FIRST_VERSION_WITH_IDS else topic.topic, partition)


class _Fetching:
    """One fetch that is being answered, now or later."""

    __slots__ = ("_context", "_ctx", "later", "response")

    def __init__(self, ctx: Context, context: FetchContext) -> None:
        self._ctx = ctx
        self._context = context
        self.response: FetchResponse | None = None
        self.later: asyncio.Future[Answer] | None = None

    def answer(self, results: list[FetchResult]) -> None:
        if self.later is not None and self.later.done():
            return  # the connection has gone
        response = self.response = self._response(self._context.answer(results))
        if self.later is not None:
            self.later.set_result(response)

    def _response(self, answered: list[Answered]) -> FetchResponse:
        response = FetchResponse(session_id=self._context.session_id)
        hints = LeaderHints(self._ctx) if self._ctx.api_version >= _FIRST_VERSION_WITH_LEADER else None
        topic: FetchableTopicResponse | None = None
        for entry, result in answered:
            name = entry.topic_partition.topic
            if topic is None or topic.topic != name or topic.topic_id != entry.topic_id:
                topic = FetchableTopicResponse(topic=name, topic_id=entry.topic_id)
                response.responses.append(topic)
            made = self._partition(entry, result)
            if hints is not None and made.error_code in _ERRORS_OF_LEADERSHIP:
                leader = hints.leader(name, entry.topic_id, made.partition_index)
                made.current_leader = LeaderIdAndEpoch(leader_id=leader.id, leader_epoch=leader.epoch)
            topic.partitions.append(made)
        if hints is not None:
            response.node_endpoints = [NodeEndpoint(**node._asdict()) for node in hints.endpoints()]
        return response

    def _partition(self, entry: FetchEntry, result: FetchResult) -> PartitionData:
        made = PartitionData(
            partition_index=entry.topic_partition.partition,
            error_code=result.error_code,
            high_watermark=result.high_watermark,
            last_stable_offset=result.last_stable_offset,
            log_start_offset=result.log_start_offset,
            preferred_read_replica=result.preferred_read_replica,
            aborted_transactions=[] if result.error_code and result.error_code in _ERRORS_OF_REQUEST else None,
            records=b"",
        )
        if result.diverging_epoch is not None:
            epoch, end_offset = result.diverging_epoch
            made.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end_offset)
        if result.aborted is not None:
            made.aborted_transactions = [
                AbortedTransaction(producer_id=txn.producer_id, first_offset=txn.first_offset) for txn in result.aborted
            ]
        if result.size_bytes:
            self._read(made, result)
        return made

    def _read(self, made: PartitionData, result: FetchResult) -> None:
        try:
            made.records = self._ctx.replicas.read_records(result)
        except ApiError as error:
            made.error_code, made.high_watermark, made.last_stable_offset = error.code, -1, -1
