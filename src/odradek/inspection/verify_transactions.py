"""Check the transaction index of a segment against the transactions that the log itself shows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from odradek.inspection.rebuild import AbortedInLog
from odradek.log.offsets import AbortedTxn

_ENTRY_BYTES = 34
_LAST_STABLE_OFFSET_AT = 26

#: Takes a position in the index file, or None, and what is wrong.
ComplainOfIndex = Callable[[int | None, str], None]


@dataclass(frozen=True, slots=True)
class LogRange:
    """Range of the log that still exists. `is_whole`: nothing was deleted in front or cleaned away, so the index must
    match the log exactly. `start_offset` is the first offset that readers get."""

    start_offset: int
    is_whole: bool


@dataclass(frozen=True, slots=True)
class WrongEntry:
    slot: int
    entry: AbortedTxn
    last_stable_offset: int


def check_txn_index(
    entries: Sequence[AbortedTxn], in_log: Sequence[AbortedInLog], log: LogRange, complain: ComplainOfIndex
) -> None:
    """`in_log` are the aborted transactions whose markers are in this segment."""
    by_marker = {aborted.marker: aborted.entry for aborted in in_log}
    indexed = {(entry.producer_id, entry.last_offset): entry for entry in entries}
    for aborted in in_log:
        entry = indexed.get(aborted.marker)
        # Of a log that was cleaned or cut in front, only what a reader could still get must be indexed.
        is_read = aborted.has_records and aborted.entry.first_offset >= log.start_offset
        if entry is None and (log.is_whole or is_read):
            complain(
                None,
                f"{describe(aborted.entry)} is in the segment and not in the index: read_committed consumers get its "
                "records. Remove the segment's .index file, and the next start of the node rebuilds its indexes",
            )
        elif entry is not None and _begins_wrong(entry, aborted.entry, log):
            complain(None, f"{describe(entry)} begins at offset {aborted.entry.first_offset} in the segment")
    if log.is_whole:
        for entry in entries:
            if (entry.producer_id, entry.last_offset) not in by_marker:
                complain(None, f"{describe(entry)} is in the index and not in the segment")
    _check_last_stable_offsets(entries, by_marker if log.is_whole else {}, complain)


def describe(aborted: AbortedTxn) -> str:
    offsets = f"{aborted.first_offset}..{aborted.last_offset}"
    return f"the aborted transaction of producer {aborted.producer_id}, offsets {offsets}"


def _begins_wrong(entry: AbortedTxn, in_log: AbortedTxn, log: LogRange) -> bool:
    """The first batches of a transaction may have been cleaned away since the entry was written."""
    if log.is_whole:
        return entry.first_offset != in_log.first_offset
    return entry.first_offset > in_log.first_offset >= log.start_offset


def _check_last_stable_offsets(
    entries: Sequence[AbortedTxn], by_marker: dict[tuple[int, int], AbortedTxn], complain: ComplainOfIndex
) -> None:
    """One finding for all entries that are too high. It is never beyond the offset after the marker; which it is up to
    there, only a whole log tells."""
    too_high: list[WrongEntry] = []
    for slot, entry in enumerate(entries):
        in_log = by_marker.get((entry.producer_id, entry.last_offset))
        right = min(entry.last_stable_offset, entry.last_offset + 1) if in_log is None else in_log.last_stable_offset
        if entry.last_stable_offset > right:
            too_high.append(WrongEntry(slot, entry, right))
        elif entry.last_stable_offset < right:
            position = slot * _ENTRY_BYTES + _LAST_STABLE_OFFSET_AT
            complain(position, f"{describe(entry)}: last stable offset {entry.last_stable_offset}, should be {right}")
    if too_high:
        _complain_of_too_high(too_high, len(entries), complain)


def _complain_of_too_high(too_high: Sequence[WrongEntry], entry_count: int, complain: ComplainOfIndex) -> None:
    first = too_high[0]
    count = "1 entry" if entry_count == 1 else f"{entry_count} entries"
    complain(
        first.slot * _ENTRY_BYTES + _LAST_STABLE_OFFSET_AT,
        f"last stable offset too high in {len(too_high)} of {count}, first in entry {first.slot}, "
        f"{describe(first.entry)}: {first.entry.last_stable_offset}, should be {first.last_stable_offset}. A "
        "read_committed consumer that fetches small ranges from Apache Kafka gets aborted records. Odradek reads such "
        "an index correctly, and corrects the file when it next loads the log",
    )
