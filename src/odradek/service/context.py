"""Context of a handler: facts about its message, and ways to reject it or to send others."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from odradek.client.consumer.typed_record import ConsumerRecord
from odradek.common.failures import InputError
from odradek.records.record import Header
from odradek.service.origin import Origin
from odradek.service.processed_store import Done, SqliteDone


class Reject(Exception):
    """Raised by a handler for a message that no attempt will help: it goes to the dead letters at once."""


@dataclass(frozen=True, slots=True)
class Send:
    """A message that a handler wants to be sent. It is sent once the handler has ended well, and before the offset of
    what was handled is committed; in exactly-once mode both happen together or not at all.

    `value` and `key` may be bytes, str, None, or whatever `codec_for` knows by its type.
    """

    topic: str
    value: Any = None
    key: Any = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


@dataclass(slots=True)
class Context:
    """Context of one attempt at one message."""

    record: ConsumerRecord
    #: Where the message was first, however often it has moved through retry topics since.
    origin: Origin
    #: This one is the n-th attempt, over all topics, counted from 1.
    attempt: int
    _done: Done | None = None
    #: By which the `Done` store knows the message; None without a store.
    done_key: str | None = None
    #: Whether `effects` has marked it.
    is_marked: bool = False
    _sends: list[Send] = field(default_factory=list)

    @property
    def topic(self) -> str:
        return self.origin.topic

    @property
    def key(self) -> bytes | None:
        key: bytes | None = self.record.key
        return key

    @property
    def headers(self) -> tuple[Header, ...]:
        return self.origin.headers

    def send(self, *messages: Send) -> None:
        """Send messages as if the handler had returned them."""
        self._sends += messages

    @contextmanager
    def effects(self) -> Iterator[sqlite3.Connection]:
        """A transaction of the `SqliteDone` store: what is written in it and the mark that this message is done become
        durable together, so that the effect happens exactly once. No `await` may stand inside."""
        if not isinstance(self._done, SqliteDone) or self.done_key is None:
            raise InputError("context.effects() needs Service(..., done=SqliteDone(path)).")
        with self._done.effects(self.done_key) as connection:
            yield connection
        self.is_marked = True

    def take_sends(self, returned: object) -> list[Send]:
        """All that is to be sent, what the handler returned last. For the service."""
        return [*self._sends, *_as_sends(returned)]


def _as_sends(returned: object) -> Iterable[Send]:
    if returned is None:
        return ()
    if isinstance(returned, Send):
        return (returned,)
    if isinstance(returned, list | tuple) and all(isinstance(item, Send) for item in returned):
        return returned
    raise InputError(f"a handler returns None, a Send or a list of Send, not {type(returned).__name__}.")
