"""Errors of record bytes, each with the error code that a client receives."""

from odradek.common.failures import ApiError


class CorruptRecord(ApiError):
    """The bytes are damaged or are no batch at all: size, magic or CRC disagree."""

    code = 2


class IncompleteBatch(CorruptRecord):
    """The batch's own length reaches beyond the bytes at hand; more of them may yet make it whole."""


class InvalidTimestamp(ApiError):
    """A timestamp outside of what the topic accepts."""

    code = 32


class UnsupportedCompression(ApiError):
    """A codec that does not exist, or that does not exist in this version of the format."""

    code = 76


class InvalidRecord(ApiError):
    """The CRC holds, but what it covers is not a well-formed set of records."""

    code = 87


class ExpandedTooLarge(InvalidRecord):
    """A compressed batch that would unfold beyond the limit."""
