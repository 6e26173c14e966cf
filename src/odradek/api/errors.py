"""An error that stands for a whole answer.

Where a response has an error code of its own at the top, an ApiError that a handler lets through becomes that code
here and nowhere else. Responses that carry errors only per topic or partition are filled in by their handlers; for
these there is no such answer, and the connection closes.
"""

from odradek.common.failures import ApiError
from odradek.protocol.codec import schema_of
from odradek.protocol.message import Message
from odradek.protocol.registry import response_class


def error_response(api_key: int, version: int, error: Exception) -> Message | None:
    """None where this version cannot say it. What is no ApiError tells nothing of our insides: code -1."""
    made = response_class(api_key)()
    fields = {field.name for field in schema_of(type(made)).fields if version in field.versions}
    if "error_code" not in fields:
        return None
    made.error_code = error.code if isinstance(error, ApiError) else -1  # type: ignore[attr-defined]
    if "error_message" in fields and isinstance(error, ApiError):
        made.error_message = str(error) or None  # type: ignore[attr-defined]
    return made
