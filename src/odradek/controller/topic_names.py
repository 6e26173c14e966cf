"""Validation of topic names in requests."""

from odradek.common.topic_names import name_problem
from odradek.controller.decision import RequestRejected
from odradek.protocol.error_codes import ErrorCode


def check_topic_name(name: str) -> None:
    """Raise RequestRejected for an invalid name."""
    reason = name_problem(name)
    if reason is not None:
        raise RequestRejected(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")
