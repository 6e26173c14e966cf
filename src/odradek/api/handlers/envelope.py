"""Envelope (key 58, KIP-590): a broker passes on what a client asked it, and vouches for who that is.

v0 KIP-590

The request inside is handled as if it had come from the client itself. An error of it is in the response inside; only
that this controller is not the active one is said by the envelope, so that the broker asks another.

Authorised by CLUSTER_ACTION on the cluster; the request inside by what its principal may do.
"""

import logging
from dataclasses import replace
from inspect import isawaitable

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.dispatch.envelope_codec import FORWARDABLE, client_address_of, principal_of
from odradek.api.dispatch.error_responses import error_response
from odradek.api.dispatch.registry import Answer
from odradek.common.failures import ApiError, ProtocolError
from odradek.common.ports import Buffer
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.errors import InvalidMessage
from odradek.protocol.message import Message
from odradek.protocol.messages.describe_quorum_response import DescribeQuorumResponse
from odradek.protocol.messages.envelope_request import EnvelopeRequest
from odradek.protocol.messages.envelope_response import EnvelopeResponse
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.messages.response_header import ResponseHeader
from odradek.protocol.requests import parse_request, response_parts
from odradek.security.resources import Operation

API = Api(ApiKey.ENVELOPE, listeners=(ListenerRole.CONTROLLER,), pipelined=True)

logger = logging.getLogger("odradek.controller")

_API_KEY_BYTES = 2


async def handle(ctx: Context, envelope: EnvelopeRequest) -> EnvelopeResponse:
    ctx.authorize(Operation.CLUSTER_ACTION)
    principal, client_address = principal_of(envelope), client_address_of(envelope)
    header, request = _parsed(ctx, envelope.request_data)
    session = replace(ctx.session, principal=principal, client_address=client_address)
    inside = Context(
        session,
        header.request_api_key,
        header.request_api_version,
        header.correlation_id,
        header.client_id or "",
        principal,
    )
    try:
        response: Answer = await _answer(inside, request)
    except ApiError as error:
        if error.code == ErrorCode.NOT_CONTROLLER:
            return EnvelopeResponse(error_code=error.code)
        response = error_response(inside.api_key, inside.api_version, error, request)
    if response is None:
        raise ApiError(f"API {ApiKey(inside.api_key).name} has no answer", ErrorCode.UNKNOWN_SERVER_ERROR)
    if _leads_elsewhere(response):
        return EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
    return EnvelopeResponse(response_data=_encoded(inside, request, response))


def _encoded(inside: Context, request: Message, response: Message) -> bytes:
    """An answer that cannot be written becomes error -1, as for a request without an envelope."""
    header = ResponseHeader(correlation_id=inside.correlation_id)
    try:
        return b"".join(response_parts(header, response, inside.api_version))
    except InvalidMessage as flaw:
        logger.error("an answer that cannot be written: %s", flaw)
        failure = error_response(inside.api_key, inside.api_version, flaw, request)
        if failure is None:
            raise
        return b"".join(response_parts(header, failure, inside.api_version))


def _parsed(ctx: Context, data: Buffer) -> tuple[RequestHeader, Message]:
    """UNSUPPORTED_VERSION for anything wrong with the request inside: the envelope itself is sound."""
    api_key = int.from_bytes(data[:_API_KEY_BYTES], "big")
    if len(data) >= _API_KEY_BYTES and api_key in tuple(ApiKey) and api_key not in FORWARDABLE:
        message = f"API {ApiKey(api_key).name} is not enabled or is not eligible for forwarding"
        raise ApiError(message, ErrorCode.INVALID_REQUEST)
    try:
        header, request = parse_request(data, ctx.registry.accepted)
    except ProtocolError as flaw:
        raise ApiError(f"Failed to parse the request in the envelope: {flaw}", ErrorCode.UNSUPPORTED_VERSION) from None
    if request is None:
        raise ApiError("ApiVersions is not eligible for forwarding", ErrorCode.INVALID_REQUEST)
    return header, request


async def _answer(ctx: Context, request: Message) -> Answer:
    response = ctx.registry.entry(ctx.api_key).handle(ctx, request)
    return await response if isawaitable(response) else response


def _leads_elsewhere(response: Message) -> bool:
    """Raft says in its own way that another node leads."""
    if not isinstance(response, DescribeQuorumResponse):
        return False
    codes = [partition.error_code for topic in response.topics for partition in topic.partitions]
    return ErrorCode.NOT_LEADER_OR_FOLLOWER in (response.error_code, *codes)
