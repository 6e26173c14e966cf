"""The kinds of failure, and the check that stays on.

Three kinds meet inside a node and are never mixed:

* `ApiError`: expected; somebody asked for what cannot be had. It becomes a wire error code in one place.
* `ProtocolError`: the peer sent what is not Kafka's protocol. Its connection closes.
* `Fault`: our own invariant, or our disk, broke. The node halts, or gives up what it was leading.

`InputError` is the fourth thing, met only at the edge: what a person wrote (a file, an option) is wrong. Its text
names what was wrong, where, and what would be right; the command prints it as it is.
"""

from typing import NoReturn

#: Characters of what a client is told. It quotes what the client sent, which may be as long as a string of the protocol
#: can be (32,767 bytes); longer than that it could not be sent.
_MESSAGE_MAX = 4_000


class ApiError(Exception):
    """An expected refusal. Subclasses name it and set `code`, the number of Kafka's error code."""

    code: int = -1  # UNKNOWN_SERVER_ERROR

    def __init__(self, message: str = "", code: int | None = None) -> None:
        super().__init__(message if len(message) <= _MESSAGE_MAX else f"{message[:_MESSAGE_MAX]}…")
        if code is not None:
            self.code = code

    @property
    def message(self) -> str:
        return str(self.args[0])


class ProtocolError(Exception):
    """The peer broke the protocol: bytes that are no message, a length beyond the frame, an unknown version."""


class Fault(Exception):
    """A broken invariant: a bug of ours, or a damaged disk."""

    __module__ = "odradek.errors"  # the public name, which tracebacks show


class InputError(Exception):
    """A setting or argument is not valid. The message is written for the person who set it."""

    __module__ = "odradek.errors"


def check(condition: bool, message: str) -> None:
    """Halt on a broken invariant. Always on: a node that is wrong is worse than a node that is down."""
    if not condition:
        fail(message)


def fail(message: str) -> NoReturn:
    raise Fault(message)
