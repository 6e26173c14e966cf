"""Why a request got no answer. Expected, each of them: networks and peers come and go."""

from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode


class Disconnected(ApiError):
    """There is no connection, or it broke; whether the request had an effect is not known."""

    code = ErrorCode.NETWORK_EXCEPTION


class RequestTimedOut(ApiError):
    """No answer in time; whether the request had an effect is not known."""

    code = ErrorCode.REQUEST_TIMED_OUT


class VersionsDiffer(ApiError):
    """The peer and we have no version of the request in common; it was not sent."""

    code = ErrorCode.UNSUPPORTED_VERSION
