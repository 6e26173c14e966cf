"""Where `consume` begins: `--from earliest|latest|N|-N|@TIME`.

N is an offset, -N so many records before the end, @TIME the first record at or after a time; each for every partition.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from odradek.cli.base.times import parse_timestamp
from odradek.client.consumer.consumer import Consumer
from odradek.client.types import TopicPartition
from odradek.common.failures import InputError

#: As seconds these are the years from 2001 on; as milliseconds some weeks of 1970 to 1973, when nobody wrote records.
_LIKE_SECONDS = range(10**9, 10**11)


class Kind(Enum):
    EARLIEST = auto()
    LATEST = auto()
    OFFSET = auto()
    BEFORE_END = auto()
    TIME = auto()


@dataclass(frozen=True, slots=True)
class Start:
    kind: Kind
    #: Of the kinds that have a number.
    number: int = 0

    @property
    def reset(self) -> str:
        """As auto.offset.reset, which is also for where an offset does not exist any more."""
        return "latest" if self.kind is Kind.LATEST else "earliest"


def parse_start(text: str) -> Start:
    """Raises InputError."""
    if text in ("earliest", "latest"):
        return Start(Kind[text.upper()])
    if text.isdecimal():
        return Start(Kind.OFFSET, int(text))
    if text.startswith("-") and text[1:].isdecimal():
        return Start(Kind.BEFORE_END, int(text[1:]))
    moment_ms = parse_timestamp(text) if text.startswith("@") else None
    if moment_ms is None:
        right = (
            "earliest, latest, an offset, -N for the last N records, or a time: @2026-01-31T12:00 or @ and milliseconds"
        )
        raise InputError(f'--from: "{text}" is no place to begin. Right would be {right}.')
    if text[1:].isdecimal() and moment_ms in _LIKE_SECONDS:
        raise InputError(f"--from: @{moment_ms} is a time in seconds; in milliseconds it is @{moment_ms * 1000}.")
    return Start(Kind.TIME, moment_ms)


async def seek_start(consumer: Consumer, partitions: Sequence[TopicPartition], start: Start) -> None:
    """The partitions are assigned."""
    if start.kind is Kind.EARLIEST:
        consumer.seek_to_beginning(*partitions)
        return
    for partition, offset in (await start_offsets(consumer, partitions, start)).items():
        consumer.seek(partition, offset)


async def start_offsets(
    consumer: Consumer, partitions: Sequence[TopicPartition], start: Start
) -> dict[TopicPartition, int]:
    """The offset of each partition at which to begin."""
    if start.kind is Kind.EARLIEST:
        return await consumer.beginning_offsets(partitions)
    if start.kind is Kind.OFFSET:
        return dict.fromkeys(partitions, start.number)
    ends = await consumer.end_offsets(partitions)
    if start.kind is Kind.BEFORE_END:
        begins = await consumer.beginning_offsets(partitions)
        return {partition: max(begins[partition], ends[partition] - start.number) for partition in partitions}
    if start.kind is Kind.TIME:
        listed = await consumer.offsets_for_times(dict.fromkeys(partitions, start.number))
        return {partition: ends[partition] if at is None else at.offset for partition, at in listed.items()}
    return ends
