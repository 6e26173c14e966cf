"""Error codes of topics that do not exist."""

from odradek.common.topic_names import name_problem
from odradek.protocol.error_codes import ErrorCode


def unknown_topic_error(name: str) -> ErrorCode:
    """Return the error of a topic that is not in the image: its name may be one that no topic can have."""
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if name_problem(name) is None else ErrorCode.INVALID_TOPIC_EXCEPTION
