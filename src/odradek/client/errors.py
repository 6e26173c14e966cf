"""Why a request got no answer. Expected, each of them: networks and peers come and go."""

from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode


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
