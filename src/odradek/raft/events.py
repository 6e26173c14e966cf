"""What happens to a replica from outside. Each is one argument of `Raft.step`."""

from dataclasses import dataclass

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message


@dataclass(frozen=True, slots=True)
class Request:
    """A peer or a tool asks. `handle` comes back in the `Reply`, which may be given in a later step.

    `listener` is the one the request came in on: addresses in the answer are those of the same listener.
    """

    handle: object
    message: Message
    version: int
    listener: str


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to a `Send` with this id."""

    correlation_id: int
    message: Message


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """No answer will come to the `Send` with this id.

    `error` is UNSUPPORTED_VERSION where the peer cannot be told what the request says. `refused`: nothing listens at
    that address, so the process is gone, not slow.
    """

    correlation_id: int
    error: ErrorCode = ErrorCode.NETWORK_EXCEPTION
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed, or `Raft.append`, `resign` or `shutdown` was called."""


Event = Request | Response | RequestFailed | Tick

TICK = Tick()
