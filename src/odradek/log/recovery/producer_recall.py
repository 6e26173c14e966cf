"""Batches that a producer snapshot leaves out, read from the log again.

A snapshot holds the last batch of each producer. But a producer may have five requests under way, and after a crash it
repeats all that were not answered: of those that are in the log, each must be known, or the first of them looks out of
order, and the producer gives up. So when a snapshot was loaded, the batches that lie close before it are read once
more. Not all of them: a start must not take longer for a case that concerns the last moments before a stop.
"""

from __future__ import annotations

from odradek.log.producers.producer_entry import BATCHES_TO_RETAIN, BatchMetadata
from odradek.log.producers.producer_state import ProducerState
from odradek.log.recovery.segment_batches import segment_batches
from odradek.log.segments.segment import Segment
from odradek.log.segments.sorted_segments import SortedSegments
from odradek.records.errors import CorruptRecord

#: How many entries of the offset index to go back: as many batches, or that many times `index.interval.bytes` of
#: batches that are smaller.
_INDEX_ENTRIES = 16
#: Of five large requests at least.
_RECALL_BYTES = 8 * 1024 * 1024


def recall_batches(producers: ProducerState, segments: SortedSegments) -> None:
    """The batches before `map_end_offset`, of those producers that are known."""
    if not producers.producers or not len(segments):
        return
    end_offset = producers.map_end_offset
    segment = segments.floor(end_offset - 1)
    recalled: dict[int, list[BatchMetadata]] = {}
    if segment is not None:
        previous = segments.lower(segment.base_offset)
        position = _tail_position(segment, end_offset)
        if position == 0 and previous is not None:
            _collect(previous, _tail_position(previous, segment.base_offset), end_offset, producers, recalled)
        _collect(segment, position, end_offset, producers, recalled)
    for producer_id, batches in recalled.items():
        producers.recall(producer_id, batches)


def _tail_position(segment: Segment, end_offset: int) -> int:
    """Return the start of a batch not far before `end_offset`."""
    entry = segment.offset_index.lookup(end_offset - 1)
    end_position = entry.position
    for _ in range(_INDEX_ENTRIES):
        if entry.position == 0 or end_position - entry.position > _RECALL_BYTES:
            break
        entry = segment.offset_index.lookup(entry.offset - 1)
    return entry.position


def _collect(
    segment: Segment,
    position: int,
    end_offset: int,
    producers: ProducerState,
    recalled: dict[int, list[BatchMetadata]],
) -> None:
    try:
        for batch in segment_batches(segment, position):
            if batch.base_offset >= end_offset:
                return
            entry = producers.last_entry(batch.producer_id)
            if entry is None or batch.is_control or batch.producer_epoch != entry.producer_epoch:
                continue
            batches = recalled.setdefault(batch.producer_id, [])
            batches.append(
                BatchMetadata(batch.last_sequence, batch.last_offset, batch.last_offset_delta, batch.max_timestamp)
            )
            del batches[:-BATCHES_TO_RETAIN]
    except CorruptRecord:
        return  # for the reader to find: the snapshot stands without it
