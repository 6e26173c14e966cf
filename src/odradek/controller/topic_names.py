"""Which names a topic may have."""

import re

from odradek.controller.decision import Refused
from odradek.protocol.error_codes import ErrorCode

#: A directory of the log is called name-partition, with a suffix while it is deleted; file systems allow 255 bytes.
NAME_MAX = 249

_PROPER = re.compile(r"[a-zA-Z0-9._-]+", re.ASCII)


def check_topic_name(name: str) -> None:
    reason = _reason(name)
    if reason is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")


def collision_form(name: str) -> str | None:
    """Names with the same form give metrics of the same name; None for names that can collide with nothing."""
    return name.replace(".", "_") if "." in name or "_" in name else None


def _reason(name: str) -> str | None:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > NAME_MAX:
        return f"the length of '{name}' is longer than the max allowed length {NAME_MAX}"
    if not _PROPER.fullmatch(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None
