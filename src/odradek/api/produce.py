"""Produce (key 0): records for partitions that this broker leads.

v3 record batches of magic 2 · v4 storage errors · v5 log start offset · v6 throttle after the response (KIP-219) · v7
zstd (KIP-110) · v8 errors of single records (KIP-467) · v9 flexible · v10 the new leader and where it is (KIP-951) ·
v11 and v12 transactions of version 2 (KIP-890) · v13 topic ids (KIP-516). Advertised from v0, refused before v3.

The batch is taken as it came: a range of the received frame, in which the log writes offsets and epoch. With acks=0
there is no answer; an error can only be told by closing the connection, as Kafka does.

Authorised by WRITE on each topic.
"""

import asyncio
from collections.abc import Container

from odradek.api.context import Context
from odradek.api.leader_hints import LeaderHints
from odradek.api.registry import Answer
from odradek.common.failures import ApiError, ProtocolError
from odradek.common.ids import TopicPartition
from odradek.common.ports import Buffer
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
from odradek.replica.values import ProduceEntry, ProduceResult
from odradek.security.authorizer import ALLOW_ALL, EVERYTHING
from odradek.security.resources import Operation, ResourceType

_FIRST_VERSION_WITH_ZSTD = 7
_FIRST_VERSION_WITH_LEADER = 10
_FIRST_VERSION_WITH_IDS = 13

_MAGIC_AT, _MAGIC = 16, 2
_LENGTH_AT, _LENGTH_END = 8, 12
_ATTRIBUTES_END = 23
_CODEC_MASK, _ZSTD = 0x07, 4


class _BadRecords(ApiError):
    code = ErrorCode.INVALID_RECORD


class _BadCodec(ApiError):
    code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def refusal(ctx: Context, request: ProduceRequest, result: ProduceResult) -> ProduceResponse:
    """The answer to a request with one partition that was not taken."""
    asked = _Asked(ctx, request)
    asked.answer([result])
    assert asked.response is not None
    return asked.response


def handle(ctx: Context, request: ProduceRequest) -> "Answer | asyncio.Future[Answer]":
    asked = _Asked(ctx, request)
    if request.acks == 0:
        ctx.replicas.produce(asked.entries, 0, request.timeout_ms, asked.check_silently)
        return None
    ctx.replicas.produce(asked.entries, request.acks, request.timeout_ms, asked.answer)
    if asked.response is not None:
        return asked.response
    asked.later = asyncio.get_running_loop().create_future()
    ctx.services.began_to_wait()
    return asked.later


class _Asked:
    """One request, and what becomes of it. Refused partitions never reach the replica manager."""

    __slots__ = ("_ctx", "_refused", "_request", "entries", "later", "response")

    def __init__(self, ctx: Context, request: ProduceRequest) -> None:
        self._ctx = ctx
        self._request = request
        self.entries: list[ProduceEntry] = []
        #: Results of partitions that were refused here, by their place in the request.
        self._refused: dict[int, ProduceResult] = {}
        self.response: ProduceResponse | None = None
        self.later: asyncio.Future[Answer] | None = None
        self._read()

    def _read(self) -> None:
        version, entries, place = self._ctx.api_version, self.entries, 0
        allowed = _allowed(self._ctx, self._request)
        for topic in self._request.topic_data:
            name = _name(self._ctx, topic)
            for partition in topic.partition_data:
                records = partition.records
                if name is None:
                    self._refused[place] = ProduceResult(ErrorCode.UNKNOWN_TOPIC_ID)
                elif name not in allowed:
                    self._refused[place] = ProduceResult(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                elif (error := _flaw(records, version)) is not None:
                    self._refused[place] = ProduceResult(error.code, error_message=error.message)
                else:
                    assert records is not None
                    entries.append(ProduceEntry(TopicPartition(name, partition.index), records, topic.topic_id))
                place += 1

    def check_silently(self, results: list[ProduceResult]) -> None:
        failed = [result.error_code for result in (*results, *self._refused.values()) if result.error_code]
        if failed:
            raise ProtocolError(f"Produce with acks=0 failed with {ErrorCode(failed[0]).name}")

    def answer(self, results: list[ProduceResult]) -> None:
        response = self.response = self._response(results)
        if self.later is not None and not self.later.done():
            self.later.set_result(response)

    def _response(self, results: list[ProduceResult]) -> ProduceResponse:
        response, taken, place = ProduceResponse(), iter(results), 0
        hints = LeaderHints(self._ctx) if self._ctx.api_version >= _FIRST_VERSION_WITH_LEADER else None
        for topic in self._request.topic_data:
            answered = TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
            for partition in topic.partition_data:
                result = self._refused.get(place) if self._refused else None
                made = _partition(partition.index, next(taken) if result is None else result)
                if made.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER and hints is not None:
                    leader = hints.leader(topic.name, topic.topic_id, partition.index)
                    made.current_leader = LeaderIdAndEpoch(leader_id=leader.id, leader_epoch=leader.epoch)
                answered.partition_responses.append(made)
                place += 1
            response.responses.append(answered)
        if hints is not None:
            response.node_endpoints = [NodeEndpoint(**node._asdict()) for node in hints.endpoints()]
        return response


def _name(ctx: Context, topic: TopicProduceData) -> str | None:
    return topic.name if ctx.api_version < _FIRST_VERSION_WITH_IDS else ctx.topic_name(topic.topic_id)


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


def _flaw(records: Buffer | None, version: int) -> ApiError | None:
    """What Kafka asks of a request before it looks for the partition: one batch, of the format and codec that the
    request's version may carry. Whether the batch is sound is the log's business."""
    if not records:
        return _BadRecords(f"Produce requests with version {version} must have at least one record batch per partition")
    if len(records) <= _ATTRIBUTES_END:
        return None  # the log says what is wrong with a batch that is cut off
    if records[_MAGIC_AT] != _MAGIC:
        return _BadRecords(
            f"Produce requests with version {version} are only allowed to contain record batches with magic version 2"
        )
    codec = records[_ATTRIBUTES_END - 1] & _CODEC_MASK
    if codec == _ZSTD and version < _FIRST_VERSION_WITH_ZSTD:
        return _BadCodec(f"Produce requests with version {version} are not allowed to use ZStandard compression")
    if len(records) > _LENGTH_END + int.from_bytes(records[_LENGTH_AT:_LENGTH_END], "big"):
        return _BadRecords(
            f"Produce requests with version {version} are only allowed to contain exactly one record batch per "
            "partition"
        )
    return None
