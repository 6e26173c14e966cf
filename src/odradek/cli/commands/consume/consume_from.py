"""Start position of `consume`: `--from earliest|latest|N|-N|@TIME`.

N is an offset, -N a number of records before the end, @TIME the first record at or after a time, in every partition.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from odradek.cli.base.times import parse_timestamp
from odradek.client.consumer.consumer import Consumer
from odradek.client.types import TopicPartition
from odradek.common.failures import InputError

#: As seconds these are the years from 2001 on; as milliseconds they are before 1974, when no records were written.
_LIKE_SECONDS = range(10**9, 10**11)


class StartKind(Enum):
    """Kind of a start position."""

    EARLIEST = auto()
    LATEST = auto()
    OFFSET = auto()
    BEFORE_END = auto()
    TIME = auto()


@dataclass(frozen=True, slots=True)
class Start:
    """Position at which every partition starts."""

    kind: StartKind
    #: Offset, number of records, or timestamp.
    value: int = 0

    @property
    def reset(self) -> str:
        """Value of auto.offset.reset, which applies if the offset has been deleted."""
        return "latest" if self.kind is StartKind.LATEST else "earliest"


def parse_start(text: str) -> Start:
    """Parse a start position. Raises InputError."""
    if text in ("earliest", "latest"):
        return Start(StartKind[text.upper()])
    if text.isdecimal():
        return Start(StartKind.OFFSET, int(text))
    if text.startswith("-") and text[1:].isdecimal():
        return Start(StartKind.BEFORE_END, int(text[1:]))
    timestamp_ms = parse_timestamp(text) if text.startswith("@") else None
    if timestamp_ms is None:
        expected = (
            "earliest, latest, an offset, -N for the last N records, or a time: @2026-01-31T12:00 or @ and milliseconds"
        )
        raise InputError(f'--from: "{text}" is not a start position. Expected {expected}.')
    if text[1:].isdecimal() and timestamp_ms in _LIKE_SECONDS:
        raise InputError(f"--from: @{timestamp_ms} is a time in seconds; in milliseconds it is @{timestamp_ms * 1000}.")
    return Start(StartKind.TIME, timestamp_ms)


async def seek_start(consumer: Consumer, partitions: Sequence[TopicPartition], start: Start) -> None:
    """Seek the assigned partitions to the start position."""
    if start.kind is StartKind.EARLIEST:
        consumer.seek_to_beginning(*partitions)
        return
    for partition, offset in (await start_offsets(consumer, partitions, start)).items():
        consumer.seek(partition, offset)


async def start_offsets(
    consumer: Consumer, partitions: Sequence[TopicPartition], start: Start
) -> dict[TopicPartition, int]:
    """Return the start offset of each partition."""
    if start.kind is StartKind.EARLIEST:
        return await consumer.beginning_offsets(partitions)
    if start.kind is StartKind.OFFSET:
        return dict.fromkeys(partitions, start.value)
    ends = await consumer.end_offsets(partitions)
    if start.kind is StartKind.BEFORE_END:
        starts = await consumer.beginning_offsets(partitions)
        return {partition: max(starts[partition], ends[partition] - start.value) for partition in partitions}
    if start.kind is StartKind.TIME:
        listed = await consumer.offsets_for_times(dict.fromkeys(partitions, start.value))
        return {partition: ends[partition] if result is None else result.offset for partition, result in listed.items()}
    return ends
