"""Errors of messages that cannot be encoded.

Bytes from a peer that are no message raise `ProtocolError` (in `odradek.common.failures`); these two are about
messages that we were asked to write.
"""

from odradek.common.failures import ApiError


class InvalidMessage(ValueError):
    """A value that its field can never hold: null where null is not allowed, a number or a string that is too large."""


class UnsupportedVersion(ApiError):
    """The message holds something that this version cannot say, and that must not be dropped silently."""

    code = 35

    def __init__(self, message: str, *, field: str = "", version: int = -1) -> None:
        super().__init__(message)
        self.field = field
        self.version = version
