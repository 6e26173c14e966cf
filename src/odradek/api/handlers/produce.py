"""Produce (key 0): records for partitions that this broker leads.

v3 record batches of magic 2 · v4 storage errors · v5 log start offset · v6 throttle after the response (KIP-219) · v7
zstd (KIP-110) · v8 errors of single records (KIP-467) · v9 flexible · v10 the new leader and where it is (KIP-951) ·
v11 and v12 transactions of version 2 (KIP-890) · v13 topic ids (KIP-516). Advertised from v0, refused before v3.

The batch is taken as it came: a range of the received frame, in which the log writes offsets and epoch. With acks=0
there is no answer; an error can only be told by closing the connection, as Kafka does.

The first batch of a transaction waits for the word of its coordinator (see `transaction_support`).

Authorised by WRITE on each topic, and on the transactional id.
"""

import asyncio
from collections.abc import Awaitable, Container, Mapping

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.dispatch.registry import Answer
from odradek.api.shared.transaction_support import Support, ask_coordinator, produce_codes
from odradek.api.shared.transactional import transactional_id
from odradek.common.failures import ApiError, ProtocolError
from odradek.common.ids import TopicPartition
from odradek.common.ports import Buffer
from odradek.metadata.leader_hints import LeaderHints
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.produce_request import ProduceRequest, TopicProduceData
from odradek.protocol.messages.produce_response import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from odradek.replica.requests import ProduceEntry, ProduceResult
from odradek.replica.transaction_verification import Guards
from odradek.security.authorizer import ALLOW_ALL, EVERYTHING
from odradek.security.resources import Operation, ResourceType

API = Api(ApiKey.PRODUCE, pipelined=True, quick="odradek.api.handlers.produce_quick")

_FIRST_VERSION_WITH_ZSTD = 7
_FIRST_VERSION_WITH_LEADER = 10
_FIRST_VERSION_WITH_ABORTABLE = 11
_FIRST_VERSION_THAT_ADDS = 12
_FIRST_VERSION_WITH_IDS = 13

_MAGIC_AT, _MAGIC = 16, 2
_LENGTH_AT, _LENGTH_END = 8, 12
_NO_BATCH = ProduceResult(ErrorCode.INVALID_RECORD)
_UNKNOWN = ProduceResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
#: Kafka's: with less there is no record, of whatever format.
_LENGTH_MIN = 14
_ATTRIBUTES_END = 23
_CODEC_MASK, _ZSTD = 0x07, 4
TRANSACTIONAL_BIT = 0x10


def refusal(ctx: Context, request: ProduceRequest, result: ProduceResult) -> ProduceResponse:
    """The answer to a request with one partition that was not taken."""
    call = _Asked(ctx, request)
    call.answer([result])
    assert call.response is not None
    return call.response


def handle(ctx: Context, request: ProduceRequest) -> "Answer | Awaitable[Answer]":
    call = _Asked(ctx, request)
    if not call.is_transactional:
        return _append(call)
    name = request.transactional_id
    if name is None or not ctx.may(Operation.WRITE, transactional_id(name)):
        raise ApiError("the transactional id may not be used", ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if ctx.connection_id not in ctx.services.verifying:
        verification = ctx.replicas.verification.start_all(call.entries, _support(ctx).adds)
        if not verification.guards:
            call.refuse(verification.errors)
            return _append(call)
    return _append_verified(call, name)


def _append(asked: "_Asked", guards: Guards | None = None) -> "Answer | asyncio.Future[Answer]":
    ctx, request = asked.ctx, asked.request
    if request.acks == 0:
        ctx.replicas.produce.append(asked.entries, 0, request.timeout_ms, asked.check_silently, guards=guards)
        return None
    ctx.replicas.produce.append(asked.entries, request.acks, request.timeout_ms, asked.answer, guards=guards)
    if asked.response is not None:
        return asked.response
    asked.later = asyncio.get_running_loop().create_future()
    ctx.services.began_to_wait()
    return asked.later


async def _append_verified(asked: "_Asked", name: str) -> Answer:
    """After the coordinator's word. What comes next on the connection may go on in the same transaction, so it waits
    until this was appended."""
    ctx, verifying = asked.ctx, asked.ctx.services.verifying
    previous = verifying.get(ctx.connection_id)
    verified: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    verifying[ctx.connection_id] = verified
    try:
        if previous is not None:
            await previous
        support = _support(ctx)
        verification = ctx.replicas.verification.start_all(asked.entries, support.adds)
        asked.refuse(verification.errors)
        if verification.guards:
            producer = (verification.producer_id, verification.producer_epoch)
            codes = await ask_coordinator(ctx, name, producer, verification.guards, support)
            asked.refuse(produce_codes(codes, support))
        result = _append(asked, verification.guards)
    finally:
        verified.set_result(None)
        if verifying.get(ctx.connection_id) is verified:
            del verifying[ctx.connection_id]
    return await result if isinstance(result, asyncio.Future) else result


def _support(ctx: Context) -> Support:
    return Support.of(ctx.api_version, abortable_from=_FIRST_VERSION_WITH_ABORTABLE, adds_from=_FIRST_VERSION_THAT_ADDS)


class _Asked:
    """One request, and what becomes of it. Rejected partitions never reach the replicas."""

    __slots__ = ("_refused", "_taken", "ctx", "entries", "is_transactional", "later", "request", "response")

    def __init__(self, ctx: Context, request: ProduceRequest) -> None:
        self.ctx = ctx
        self.request = request
        self.entries: list[ProduceEntry] = []
        #: Places of the entries in the request.
        self._taken: list[int] = []
        self.is_transactional = False
        #: Results of partitions that were refused here, by their place in the request.
        self._refused: dict[int, ProduceResult] = {}
        self.response: ProduceResponse | None = None
        self.later: asyncio.Future[Answer] | None = None
        self._read()

    def _read(self) -> None:
        version, entries, position = self.ctx.api_version, self.entries, 0
        allowed = _allowed(self.ctx, self.request)
        for topic in self.request.topic_data:
            name = _name(self.ctx, topic)
            for partition in topic.partition_data:
                records = partition.records
                if name is None:
                    self._refused[position] = ProduceResult(ErrorCode.UNKNOWN_TOPIC_ID)
                elif name not in allowed:
                    self._refused[position] = ProduceResult(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                elif (flaw := _flaw(records, version)) is not None:
                    is_known = _is_known(self.ctx, name, partition.index)
                    self._refused[position] = flaw if is_known else _UNKNOWN
                else:
                    assert records is not None
                    entries.append(ProduceEntry(TopicPartition(name, partition.index), records, topic.topic_id))
                    self._taken.append(position)
                    self.is_transactional |= _is_transactional(records)
                position += 1

    def refuse(self, codes: Mapping[TopicPartition, int]) -> None:
        """Partitions of which it turned out that they cannot be appended to."""
        if codes:
            remaining = []
            for position, entry in zip(self._taken, self.entries, strict=True):
                code = codes.get(entry.topic_partition)
                if code is None:
                    remaining.append((position, entry))
                else:
                    self._refused[position] = ProduceResult(code)
            self._taken, self.entries = [position for position, _ in remaining], [entry for _, entry in remaining]

    def check_silently(self, results: list[ProduceResult]) -> None:
        failed = [result.error_code for result in (*results, *self._refused.values()) if result.error_code]
        if failed:
            raise ProtocolError(f"Produce with acks=0 failed with {ErrorCode(failed[0]).name}")

    def answer(self, results: list[ProduceResult]) -> None:
        response = self.response = self._response(results)
        if self.later is not None and not self.later.done():
            self.later.set_result(response)

    def _response(self, results: list[ProduceResult]) -> ProduceResponse:
        response, appended, position = ProduceResponse(), iter(results), 0
        is_hinted = self.ctx.api_version >= _FIRST_VERSION_WITH_LEADER
        hints: LeaderHints | None = None
        for topic in self.request.topic_data:
            answered = TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
            for partition in topic.partition_data:
                result = self._refused.get(position) if self._refused else None
                partition_response = _partition(partition.index, next(appended) if result is None else result)
                if partition_response.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER and is_hinted:
                    hints = hints or _leader_hints(self.ctx)
                    leader = hints.leader(topic.name, topic.topic_id, partition.index)
                    partition_response.current_leader = LeaderIdAndEpoch(leader_id=leader.id, leader_epoch=leader.epoch)
                answered.partition_responses.append(partition_response)
                position += 1
            response.responses.append(answered)
        if hints is not None:
            response.node_endpoints = [NodeEndpoint(**node._asdict()) for node in hints.endpoints()]
        return response


def _leader_hints(ctx: Context) -> LeaderHints:
    return LeaderHints(ctx.services.image(), ctx.listener_name, ctx.services.node_id)


def _name(ctx: Context, topic: TopicProduceData) -> str | None:
    return topic.name if ctx.api_version < _FIRST_VERSION_WITH_IDS else ctx.topic_name(topic.topic_id)


def _is_known(ctx: Context, name: str, partition: int) -> bool:
    topic = ctx.services.image().topics.by_name.get(name)
    return topic is not None and partition in topic.partitions


def _allowed(ctx: Context, request: ProduceRequest) -> Container[str]:
    if ctx.services.authorizer is ALLOW_ALL:
        return EVERYTHING
    names = [_name(ctx, topic) for topic in request.topic_data]
    return ctx.allowed(Operation.WRITE, ResourceType.TOPIC, (name for name in names if name is not None))


def _partition(index: int, result: ProduceResult) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=index,
        error_code=result.error_code,
        base_offset=result.base_offset,
        log_append_time_ms=result.log_append_time_ms,
        log_start_offset=result.log_start_offset,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=error.batch_index, batch_index_error_message=error.message)
            for error in result.record_errors
        ],
        error_message=result.error_message,
    )


def _is_transactional(records: Buffer) -> bool:
    return len(records) > _ATTRIBUTES_END and records[_ATTRIBUTES_END - 1] & TRANSACTIONAL_BIT != 0


def _flaw(records: Buffer | None, version: int) -> ProduceResult | None:
    """Check what Kafka requires of a request before the append: one complete batch, in a format and codec that the
    version allows. The append validates the batch itself. Messages are Kafka's where it has one."""
    if not records or len(records) < _LENGTH_END:
        return _NO_BATCH
    length = int.from_bytes(records[_LENGTH_AT:_LENGTH_END], "big", signed=True)
    if length < _LENGTH_MIN:
        return _corrupt(f"Record size {length} is less than the minimum record overhead ({_LENGTH_MIN})")
    if len(records) != _LENGTH_END + length:  # cut off, or another one behind it
        return _NO_BATCH
    magic = records[_MAGIC_AT]
    if magic != _MAGIC:
        return _NO_BATCH if magic < _MAGIC else _corrupt(f"Invalid magic found in record: {magic}")
    codec = records[_ATTRIBUTES_END - 1] & _CODEC_MASK
    if codec == _ZSTD and version < _FIRST_VERSION_WITH_ZSTD:
        return ProduceResult(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    return None


def _corrupt(message: str) -> ProduceResult:
    return ProduceResult(ErrorCode.CORRUPT_MESSAGE, error_message=message)
