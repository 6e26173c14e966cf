"""Error codes of answers, as logs name them."""

from odradek.protocol.error_codes import ErrorCode


def error_name(code: int) -> str:
    """A newer peer may send a code that this software does not know."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"
