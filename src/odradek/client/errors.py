"""What goes wrong between a client and a cluster. Expected, each of them: networks, nodes and topics come and go.

All are `KafkaError`, and `code` is Kafka's number (`ErrorCode`). `Disconnected`, `RequestTimedOut`, `VersionsDiffer`
and `Unreachable` say why there is no answer; `Refused` is an answer that says no.
"""

from collections.abc import Mapping
from typing import Any

from odradek.common.failures import ApiError
from odradek.common.failures import InputError as InputError
from odradek.protocol.error_codes import ErrorCode

#: Whatever a client raises about the cluster; wrong settings and arguments are InputError.
KafkaError = ApiError


class Disconnected(ApiError):
    """There is no connection, or it broke; whether the request had an effect is not known.

    `refused` is true where nothing listens at the address: the peer's machine answers, its process is gone (or not
    there yet), and the request was not sent. A peer that is silent, or that hung up, is not refused.
    """

    code = ErrorCode.NETWORK_EXCEPTION

    def __init__(self, message: str = "", *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


class RequestTimedOut(ApiError):
    """No answer in time; whether the request had an effect is not known."""

    code = ErrorCode.REQUEST_TIMED_OUT


class VersionsDiffer(ApiError):
    """The peer and we have no version of the request in common; it was not sent."""

    code = ErrorCode.UNSUPPORTED_VERSION


class Unreachable(ApiError):
    """None of the addresses answers."""

    code = ErrorCode.NETWORK_EXCEPTION


class NoLeader(ApiError):
    """Nodes answer, but none of them leads the quorum."""

    code = ErrorCode.LEADER_NOT_AVAILABLE


class WrongEndpoint(ApiError):
    """A broker where a controller was expected, or the other way round."""

    code = ErrorCode.MISMATCHED_ENDPOINT_TYPE


class Refused(ApiError):
    """The cluster said no; the text has its reason."""


class PartlyRefused(Refused):
    """Of several things that were asked for, some cannot be had; `code` is that of the first.

    `outcomes` has all of them: for each its value, or a Refused.
    """

    def __init__(self, message: str, code: int, outcomes: Mapping[Any, Any]) -> None:
        super().__init__(message, code)
        self.outcomes = outcomes


class UnknownTopic(ApiError):
    """No node has told of the topic in time."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def check_error(code: int, message: str | None) -> None:
    """Raises Refused for an error of a response, in its own words if it has any."""
    error = refusal(code, message)
    if error is not None:
        raise error


def refusal(code: int, message: str | None = None) -> Refused | None:
    """An error of a response, or of one of the things that it is about."""
    if code == ErrorCode.NONE:
        return None
    try:
        known = ErrorCode(code)
    except ValueError:
        return Refused(f"error {code}: {message or 'which this software does not know'}", code)
    return Refused(f"{known.name}: {message or known.message}", code)


def is_retriable(error: ApiError) -> bool:
    """Whether the same request may succeed later, by Kafka's table of errors."""
    return error.code in _RETRIABLE


_RETRIABLE = frozenset(int(code) for code in ErrorCode if code.retriable)
