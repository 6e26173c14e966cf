"""DeleteRecords (key 21): the log of a partition begins later from now on (KIP-107).

v1 throttle after the response (KIP-219) · v2 flexible

Authorised by DELETE on each topic.
"""

import asyncio

from odradek.api.dispatch.context import Context
from odradek.api.shared.refusals import only_allowed, with_refused
from odradek.common.ids import TopicPartition
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.delete_records_request import DeleteRecordsRequest
from odradek.protocol.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from odradek.replica.requests import DeleteRecordsEntry, DeleteRecordsResult
from odradek.security.resources import Operation, ResourceType

_REFUSED = DeleteRecordsResult(ErrorCode.TOPIC_AUTHORIZATION_FAILED)


async def handle(ctx: Context, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    allowed = ctx.allowed(Operation.DELETE, ResourceType.TOPIC, (topic.name for topic in request.topics))
    entries = [
        DeleteRecordsEntry(TopicPartition(topic.name, asked.partition_index), asked.offset)
        for topic in request.topics
        for asked in topic.partitions
    ]
    done: asyncio.Future[list[DeleteRecordsResult]] = asyncio.get_running_loop().create_future()

    def answer(found: list[DeleteRecordsResult]) -> None:
        if not done.done():
            done.set_result(found)

    ctx.replicas.deletion.delete(only_allowed(entries, allowed), request.timeout_ms, answer)
    if not done.done():
        ctx.services.began_to_wait()
    results = with_refused(entries, allowed, await done, _REFUSED)
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    DeleteRecordsPartitionResult(
                        partition_index=asked.partition_index,
                        low_watermark=result.low_watermark,
                        error_code=result.error_code,
                    )
                    for asked, result in zip(topic.partitions, results, strict=False)
                ],
            )
            for topic in request.topics
        ]
    )
