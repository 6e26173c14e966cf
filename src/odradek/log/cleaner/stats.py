"""Counters of one cleaning round."""

from dataclasses import dataclass


@dataclass(slots=True)
class CleanerStats:
    """`map_*` counts the first pass, over the dirty section; the rest counts the second, over all of the log.

    `invalid_messages` are records without a key, which have no place in a compacted log."""

    map_bytes_read: int = 0
    map_messages_read: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    messages_read: int = 0
    messages_written: int = 0
    invalid_messages: int = 0
    buffer_utilization: float = 0.0
