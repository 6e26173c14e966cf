"""Compare a producer snapshot with the producers that the batches before it show.

A snapshot is as old as its segment, the log beside it may have changed since. Producers expire, so a snapshot may know
fewer of them, and of one that came back only what it wrote afterwards. Retention and compaction take batches away, so
a snapshot may know producers, and later batches of theirs, that the log no longer has. Neither is a problem.
"""

from collections.abc import Iterator
from enum import Enum
from typing import Any

from odradek.inspection.rebuild import NOTHING, Producer

_DATA_FIELDS = ("last_sequence", "last_offset", "offset_delta")
_ALL_FIELDS = ("epoch", *_DATA_FIELDS, "timestamp", "coordinator_epoch", "current_txn_first_offset")


class Evidence(Enum):
    """Extent of the data before a snapshot that is still in the log."""

    WHOLE = "whole"  # every batch since offset 0
    TAIL = "tail"  # every batch since some offset
    GAPS = "gaps"  # some batches: the log was compacted


def snapshot_flaws(entry: Any, producer: Producer | None, evidence: Evidence) -> Iterator[str]:
    """Return the contradictions between the log and a snapshot's entry for one producer."""
    if producer is None:
        if evidence is Evidence.WHOLE:
            yield f"producer {entry.producer_id} is not in the log"
        return
    for name in _comparable(entry, producer, evidence):
        in_snapshot, in_log = getattr(entry, name), getattr(producer, name)
        if in_snapshot != in_log:
            field = name.replace("_", " ")
            yield f"producer {entry.producer_id}: {field} {in_snapshot}, the log says {in_log}"


def _comparable(entry: Any, producer: Producer, evidence: Evidence) -> tuple[str, ...]:
    """The fields that must be equal."""
    has_lost_data = entry.last_offset == NOTHING  # it expired, and only a marker came since
    if evidence is Evidence.WHOLE:
        unknown = {"coordinator_epoch"} if entry.coordinator_epoch == NOTHING else set()
        return tuple(
            name for name in _ALL_FIELDS if name not in unknown and not (has_lost_data and name in _DATA_FIELDS)
        )
    if not producer.has_data or producer.last_offset == NOTHING:
        return ()
    if evidence is Evidence.GAPS and (entry.epoch, entry.last_offset) > (producer.epoch, producer.last_offset):
        return ()  # its last batch was cleaned away
    return ("epoch",) if has_lost_data else ("epoch", "last_sequence", "last_offset")
