"""Headers of messages that moved: where they come from, how often they were tried, why they are dead. Pure.

A record in a retry topic or among the dead letters has the bytes and the headers that it had at first, and ours beside
them. All values are text. What was ours in an earlier place is replaced, so that headers do not pile up; a dead letter
that somebody produces again to its topic starts anew, since ours count only in retry topics.

Their names and meanings: `odradek.common.dead_letter_headers`.
"""

from __future__ import annotations

from dataclasses import dataclass

from odradek.client.consumer.typed_record import ConsumerRecord
from odradek.common.dead_letter_headers import (
    ATTEMPTS,
    DUE_MS,
    EXCEPTION,
    GROUP,
    MESSAGE,
    OFFSET,
    PARTITION,
    PREFIX,
    REASON,
    TEXT_BYTES_MAX,
    TIMESTAMP_MS,
    TOPIC,
    TRACE,
    Reason,
)
from odradek.records.record import Header


@dataclass(frozen=True, slots=True)
class Failure:
    """Failure of one attempt."""

    reason: Reason
    exception: str
    message: str
    trace: str = ""

    @property
    def is_final(self) -> bool:
        """Another attempt would end the same way."""
        return self.reason in (Reason.UNDECODABLE, Reason.REJECTED)


@dataclass(frozen=True, slots=True)
class Origin:
    """First position of a message, and its attempts since then."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    #: As the record had them at first.
    headers: tuple[Header, ...]
    #: Attempts in all places before this one.
    attempts: int = 0
    #: Not to be tried before; 0 where it has not failed yet.
    due_ms: int = 0
    #: Whose retry it is; None where it has not failed yet.
    group: str | None = None

    @property
    def name(self) -> str:
        """Tells a message from all others of the cluster."""
        return f"{self.topic}-{self.partition}-{self.offset}"


def first_origin(record: ConsumerRecord) -> Origin:
    """Return the origin of a record in the topic that the handler reads."""
    theirs = tuple(header for header in record.headers if not header.key.startswith(PREFIX))
    return Origin(record.topic, record.partition, record.offset, record.timestamp_ms, theirs)


def moved_origin(record: ConsumerRecord) -> Origin | None:
    """Return the origin of a record in a retry topic; None if it lacks the headers of a service."""
    ours = {header.key: header.value or b"" for header in record.headers if header.key.startswith(PREFIX)}
    theirs = tuple(header for header in record.headers if not header.key.startswith(PREFIX))
    try:
        return Origin(
            ours[TOPIC].decode(),
            int(ours[PARTITION]),
            int(ours[OFFSET]),
            int(ours[TIMESTAMP_MS]),
            theirs,
            int(ours[ATTEMPTS]),
            int(ours[DUE_MS]),
            ours[GROUP].decode(),
        )
    except (KeyError, ValueError):
        return None


def retry_headers(origin: Origin, group: str, attempts: int, due_ms: int) -> list[tuple[str, bytes | None]]:
    return [*_common(origin, group, attempts), (DUE_MS, str(due_ms).encode())]


def dead_headers(origin: Origin, group: str, attempts: int, failure: Failure) -> list[tuple[str, bytes | None]]:
    return [
        *_common(origin, group, attempts),
        (REASON, failure.reason.value.encode()),
        (EXCEPTION, failure.exception.encode()),
        (MESSAGE, _beginning(failure.message)),
        (TRACE, _end(failure.trace)),
    ]


def _common(origin: Origin, group: str, attempts: int) -> list[tuple[str, bytes | None]]:
    return [
        *((header.key, header.value) for header in origin.headers),
        (TOPIC, origin.topic.encode()),
        (PARTITION, str(origin.partition).encode()),
        (OFFSET, str(origin.offset).encode()),
        (TIMESTAMP_MS, str(origin.timestamp_ms).encode()),
        (GROUP, group.encode()),
        (ATTEMPTS, str(attempts).encode()),
    ]


def _beginning(text: str) -> bytes:
    encoded = text.encode(errors="backslashreplace")[:TEXT_BYTES_MAX]
    return encoded.decode(errors="ignore").encode()


def _end(text: str) -> bytes:
    """Return the end of a traceback, which names the failure."""
    encoded = text.encode(errors="backslashreplace")[-TEXT_BYTES_MAX:]
    return encoded.decode(errors="ignore").encode()
