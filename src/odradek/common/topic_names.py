"""Rules for the names of topics. Pure."""

import re

#: A directory of the log is called name-partition, with a suffix while it is deleted; file systems allow 255 bytes.
NAME_MAX = 249

_PROPER = re.compile(r"[a-zA-Z0-9._-]+", re.ASCII)


def name_problem(name: str) -> str | None:
    """In Kafka's words; None where nothing is wrong with it."""
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > NAME_MAX:
        return f"the length of '{name}' is longer than the max allowed length {NAME_MAX}"
    if not _PROPER.fullmatch(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None


def collision_form(name: str) -> str | None:
    """Return the form that topics share whose metrics would have the same names; None if the name cannot collide."""
    return name.replace(".", "_") if "." in name or "_" in name else None
