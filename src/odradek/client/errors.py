"""Error codes of responses as exceptions of `odradek.errors`."""

from odradek.errors import KafkaError, Refused
from odradek.protocol.error_codes import ErrorCode


def check_error(code: int, message: str | None) -> None:
    """Raise Refused for an error code of a response, with the message of the response if it has one."""
    error = refusal(code, message)
    if error is not None:
        raise error


def refusal(code: int, message: str | None = None) -> Refused | None:
    """Return the exception for an error code of a response, or None if the code is NONE."""
    if code == ErrorCode.NONE:
        return None
    try:
        error_code = ErrorCode(code)
    except ValueError:
        return Refused(f"error {code}: {message or 'not a known error code'}", code)
    return Refused(f"{error_code.name}: {message or error_code.message}", code)


def is_retriable(error: KafkaError) -> bool:
    """Return whether the same request may succeed later, by Kafka's table of errors."""
    return error.code in _RETRIABLE


_RETRIABLE = frozenset(int(code) for code in ErrorCode if code.retriable)
