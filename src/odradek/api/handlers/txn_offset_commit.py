"""TxnOffsetCommit (key 28): offsets that count when a transaction is committed.

v2 leader epoch (KIP-320) · v3 flexible; the member and its generation (KIP-447) · v4 TRANSACTION_ABORTABLE · v5 the
group's partition joins the transaction by itself (KIP-890)

Authorised by WRITE on the transactional id, READ on the group and on each topic.
"""

from collections.abc import Iterable

from odradek.api.dispatch.context import Context
from odradek.api.shared.group_requests import authorize_group, partition_error, refuse_empty_id
from odradek.api.shared.topic_lists import Refused, all_refused, merge, sort_out
from odradek.api.shared.transaction_support import Support, ask_coordinator
from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.coordinator.runtime.errors import of_log_error
from odradek.coordinator.runtime.shard import Writer
from odradek.coordinator.transaction.transaction import EPOCH_BUMP_VERSION
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest, TxnOffsetCommitRequestTopic
from odradek.protocol.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from odradek.replica.transaction_verification import NO_VERIFICATION
from odradek.security.resources import Operation, Resource, ResourceType

#: The first version whose clients know that a coordinator may be loading.
_LOADING_VERSION = 2
_FIRST_VERSION_WITH_ABORTABLE = 4
_FIRST_VERSION_THAT_ADDS = 5

_NO_SEQUENCE = -1


async def handle(ctx: Context, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse:
    ctx.authorize(Operation.WRITE, Resource(ResourceType.TRANSACTIONAL_ID, request.transactional_id))
    authorize_group(ctx, Operation.READ, request.group_id)
    allowed = ctx.allowed(Operation.READ, ResourceType.TOPIC, (topic.name for topic in request.topics))
    refused, request.topics = sort_out(
        request.topics, lambda topic, index: partition_error(ctx, allowed, topic.name, index)
    )
    answers = _answers(refused)
    if request.topics:
        merge(answers, await _commit(ctx, request))
    return TxnOffsetCommitResponse(topics=answers)


async def _commit(ctx: Context, request: TxnOffsetCommitRequest) -> list[TxnOffsetCommitResponseTopic]:
    try:
        refuse_empty_id(request.group_id)
        writer = await _verified(ctx, request)
        response: TxnOffsetCommitResponse = await ctx.groups.write(
            request.group_id, lambda shard: shard.commit_transactional_offsets(request, ctx.api_version), writer=writer
        )
    except ApiError as error:
        is_unknown = error.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and ctx.api_version < _LOADING_VERSION
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE if is_unknown else error.code
        return _answers(all_refused(request.topics, code))
    return response.topics


async def _verified(ctx: Context, request: TxnOffsetCommitRequest) -> Writer:
    """Verify the transaction with its coordinator if it begins in the group's partition. Raises ApiError."""
    producer, support = (request.producer_id, request.producer_epoch), _support(ctx)
    partition = TopicPartition(ctx.groups.topic, ctx.groups.partition_for(request.group_id))
    try:
        guard = ctx.replicas.verification.start(partition, *producer, _NO_SEQUENCE, support.adds)
        if guard is not NO_VERIFICATION:
            codes = await ask_coordinator(ctx, request.transactional_id, producer, (partition,), support)
            if codes:
                raise ApiError("the transaction's coordinator refuses the group's partition", codes[partition])
    except ApiError as error:
        raise of_log_error(error) from None
    version = EPOCH_BUMP_VERSION if support.adds else 0
    return Writer(request.transactional_id, *producer, version, guard)


def _support(ctx: Context) -> Support:
    return Support.of(ctx.api_version, abortable_from=_FIRST_VERSION_WITH_ABORTABLE, adds_from=_FIRST_VERSION_THAT_ADDS)


def _answers(refused: Iterable[Refused[TxnOffsetCommitRequestTopic]]) -> list[TxnOffsetCommitResponseTopic]:
    return [
        TxnOffsetCommitResponseTopic(
            name=one.topic.name,
            partitions=[
                TxnOffsetCommitResponsePartition(partition_index=index, error_code=code) for index, code in one.errors
            ],
        )
        for one in refused
    ]
