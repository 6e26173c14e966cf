"""Events from outside the replica. Each is an argument of `Raft.step`."""

from dataclasses import dataclass

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message


@dataclass(frozen=True, slots=True)
class Request:
    """Request of a peer or a tool. `handle` comes back in the `Reply`, which may be an effect of a later step.

    `listener` is the one the request came in on: addresses in the answer are those of the same listener.
    """

    handle: object
    message: Message
    version: int
    listener: str


@dataclass(frozen=True, slots=True)
class Response:
    """Response to a `Send` with this id."""

    correlation_id: int
    message: Message


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """Failure of the `Send` with this id: no response will come.

    `error` is UNSUPPORTED_VERSION where the peer cannot be told what the request says. `refused`: nothing listens at
    that address, so the process is gone, not slow.
    """

    correlation_id: int
    error: ErrorCode = ErrorCode.NETWORK_EXCEPTION
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Tick:
    """Passing of time, or a call of `Raft.append`, `resign` or `shutdown`."""


Event = Request | Response | RequestFailed | Tick

TICK = Tick()
