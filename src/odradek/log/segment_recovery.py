"""Recovery of one segment: walk its batches, rebuild its indexes, cut off what is damaged. Skeleton of signatures."""

from dataclasses import dataclass

from odradek.log.epoch_cache import EpochCache
from odradek.log.errors import DamagedFile
from odradek.log.producer_state import ProducerState
from odradek.log.segment import Segment


@dataclass(frozen=True, slots=True)
class Recovery:
    """`damage` says why the walk ended early; None if the whole file was good."""

    valid_bytes: int
    truncated_bytes: int
    next_offset: int
    damage: DamagedFile | None


def recover_segment(segment: Segment, producers: ProducerState | None, epochs: EpochCache | None) -> Recovery:
    """Raises SegmentOverflow (the loader splits) and InvalidOffset (the loader drops the segment), as Kafka does."""
    raise NotImplementedError
