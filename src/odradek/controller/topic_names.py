"""Which names a topic may have."""

from odradek.common.topic_names import name_problem
from odradek.controller.decision import Refused
from odradek.protocol.error_codes import ErrorCode


def check_topic_name(name: str) -> None:
    reason = name_problem(name)
    if reason is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")


def collision_form(name: str) -> str | None:
    """Names with the same form give metrics of the same name; None for names that can collide with nothing."""
    return name.replace(".", "_") if "." in name or "_" in name else None
