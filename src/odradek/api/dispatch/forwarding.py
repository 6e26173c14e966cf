"""Changes that only the active controller can make: a broker passes the client's request on in an Envelope, and the
controller's answer back (KIP-590).

The request travels in the version in which the client sent it, with the client's header: the controller answers as if
the client had asked it. What no controller takes in time is answered with REQUEST_TIMED_OUT.

Authorised by the controller, as the principal that the broker vouches for.
"""

from odradek.api.dispatch.context import Context
from odradek.common.failures import ApiError, ProtocolError, check
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.requests import parse_response, request_parts

#: Kafka's: how long a broker looks for a controller that takes the request.
TIMEOUT_MS = 60_000

#: Errors of the Envelope itself that a client may see; all others are between us and the controller.
_FOR_CLIENTS = (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNSUPPORTED_VERSION)


async def handle(ctx: Context, request: Message) -> Message:
    forwarder = ctx.services.forwarder
    check(forwarder is not None, "a request to pass on, on a node that has no way to the controller")
    assert forwarder is not None
    header = RequestHeader(
        request_api_key=ctx.api_key,
        request_api_version=ctx.api_version,
        correlation_id=ctx.correlation_id,
        client_id=ctx.client_id,
    )
    request_data = b"".join(request_parts(header, request))
    try:
        response_data = await forwarder.forward(request_data, ctx.principal, ctx.session.client_address, TIMEOUT_MS)
        return parse_response(response_data, ctx.api_key, ctx.api_version)[1]
    except (ApiError, ProtocolError) as error:
        if isinstance(error, ApiError) and error.code in _FOR_CLIENTS:
            raise
        raise ApiError(f"The request could not be passed on: {error}", ErrorCode.UNKNOWN_SERVER_ERROR) from error
