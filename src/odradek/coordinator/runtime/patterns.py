"""Regular expressions that clients send. RE2's: matching takes linear time, whatever the expression, and the syntax is
that of Kafka's own engine."""

from collections.abc import Callable

from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode

Matches = Callable[[str], bool]


def compile_pattern(text: str, what: str) -> Matches:
    """Return a predicate for full matches. Raises ApiError, INVALID_REGULAR_EXPRESSION; `what` begins its message."""
    import re2  # few clients send any, and it takes a while

    options = re2.Options()
    options.log_errors = False
    try:
        pattern = re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise ApiError(
            f"{what} `{text}` is not a valid regular expression: {reason}.", ErrorCode.INVALID_REGULAR_EXPRESSION
        ) from None
    return lambda candidate: pattern.fullmatch(candidate) is not None
