"""A dead letter: the record that was rejected, where it came from, and why it was rejected. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from odradek.common.dead_letter_headers import (
    ATTEMPTS,
    EXCEPTION,
    GROUP,
    MESSAGE,
    OFFSET,
    PARTITION,
    PREFIX,
    REASON,
    REPLAY_ERROR,
    STEP,
    TEXT_BYTES_MAX,
    TIMESTAMP_MS,
    TOPIC,
    TRACE,
)

if TYPE_CHECKING:
    from odradek.client.consumer.typed_record import ConsumerRecord

Headers = tuple[tuple[str, bytes | None], ...]


class Skip(Enum):
    """What a fix returns for a letter that is to stay among the dead letters."""

    SKIP = auto()


@dataclass(frozen=True, slots=True)
class FixedRecord:
    """A record to be produced instead of a letter."""

    topic: str | None
    value: bytes | None
    key: bytes | None
    headers: Headers
    #: None: chosen by the key, as producers do.
    partition: int | None
    #: None: the time of the replay.
    timestamp_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """`topic`, `partition`, `offset` and `timestamp_ms` are those of the dead letter itself; `source_…` are those of
    the record that it was, None where its headers do not tell. `headers` are without those that were added to it."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    source_topic: str | None = None
    source_partition: int | None = None
    source_offset: int | None = None
    source_timestamp_ms: int | None = None
    #: failed, time-limit, undecodable or rejected; "unknown" for a record that is not one of our dead letters.
    reason: str
    #: The step of the pipeline, or the group of the service, that rejected it.
    step: str | None = None
    group: str | None = None
    attempts: int | None = None
    exception: str | None = None
    message: str | None = None
    trace: str | None = None
    #: Why the last replay did not send it.
    replay_error: str | None = None
    #: The headers that were added to it, as they are.
    added_headers: Headers = ()

    @property
    def error(self) -> str:
        """The error message, with the exception if there was one."""
        return ": ".join(part for part in (self.exception, self.message) if part)

    def record(
        self,
        *,
        value: bytes | str | Skip | None = Skip.SKIP,
        key: bytes | str | Skip | None = Skip.SKIP,
        headers: Headers | None = None,
        topic: str | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> FixedRecord:
        """Return a record to send: as the letter was, except for what is given. `value=None` makes a tombstone."""
        new_key = self.key if isinstance(key, Skip) else _as_bytes(key)
        is_same_place = topic in (None, self.source_topic) and new_key == self.key
        return FixedRecord(
            topic=self.source_topic if topic is None else topic,
            value=self.value if isinstance(value, Skip) else _as_bytes(value),
            key=new_key,
            headers=self.headers if headers is None else tuple(headers),
            partition=self.source_partition if partition is None and is_same_place else partition,
            timestamp_ms=timestamp_ms,
        )

    def skip(self) -> Skip:
        """Return what a fix returns to leave the letter where it is."""
        return Skip.SKIP


def parse_letter(record: ConsumerRecord) -> Letter:
    """Any record can be read: what its headers do not tell is None."""
    added = {header.key: header.value for header in record.headers if header.key.startswith(PREFIX)}

    def text(name: str) -> str | None:
        value = added.get(name)
        return None if value is None else value.decode(errors="backslashreplace")

    def number(name: str) -> int | None:
        value = text(name)
        return int(value) if value is not None and value.isdecimal() else None

    return Letter(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        timestamp_ms=record.timestamp_ms,
        key=record.key,
        value=record.value,
        headers=tuple((header.key, header.value) for header in record.headers if header.key not in added),
        source_topic=text(TOPIC) or None,
        source_partition=number(PARTITION),
        source_offset=number(OFFSET),
        source_timestamp_ms=number(TIMESTAMP_MS),
        reason=text(REASON) or "unknown",
        step=text(STEP),
        group=text(GROUP),
        attempts=number(ATTEMPTS),
        exception=text(EXCEPTION),
        message=text(MESSAGE),
        trace=text(TRACE),
        replay_error=text(REPLAY_ERROR),
        added_headers=tuple(added.items()),
    )


def written_back(letter: Letter, error: str | None) -> FixedRecord:
    """Return the letter as it is produced again to its own partition: the same bytes, time and headers, and the error
    of this replay, if there is one, instead of the error of an earlier replay."""
    added = [(name, value) for name, value in letter.added_headers if error is None or name != REPLAY_ERROR]
    if error:
        added.append((REPLAY_ERROR, _beginning(error)))
    return FixedRecord(
        topic=letter.topic,
        value=letter.value,
        key=letter.key,
        headers=(*letter.headers, *added),
        partition=letter.partition,
        timestamp_ms=max(letter.timestamp_ms, 0),
    )


def _beginning(text: str) -> bytes:
    return text.encode(errors="backslashreplace")[:TEXT_BYTES_MAX].decode(errors="ignore").encode()


def _as_bytes(data: bytes | str | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
