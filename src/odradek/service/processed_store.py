"""Stores of processed messages, so that none is processed twice.

A message comes again after a crash between its handling and the commit of its offset, and after a rebalance. A service
with a `Done` store asks it before each message and marks each one that is finished: handled, or dead. The key is the
place where the message was first (`orders-3-1482`), or what `done_key` of the service makes of it, an order's number
for example, which also finds what was produced twice.

A mark is made after the effect. A crash in between, and the effect happens again: only a store that takes both in one
transaction, such as `SqliteDone` with `context.effects()`, makes effects happen exactly once. Stores are asked from the
event loop; one that is far away may return awaitables.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import Protocol

from odradek.common.failures import InputError

#: Some megabytes, and many times what is in hand at a crash or a rebalance.
_REMEMBERED = 100_000

#: How many marks are made between two looks at how many there are.
_TRIM_EVERY = 1_000


class Done(Protocol):
    def seen(self, key: str) -> bool | Awaitable[bool]: ...

    def mark(self, key: str) -> Awaitable[None] | None:
        """Durable when it returns, as far as the store is. What is marked already stays so."""


class MemoryDone:
    """Forgets with the process: good against rebalances and messages that were produced twice, not against crashes."""

    def __init__(self, remembered: int = _REMEMBERED) -> None:
        self._remembered = remembered
        self._keys: OrderedDict[str, None] = OrderedDict()

    def seen(self, key: str) -> bool:
        return key in self._keys

    def mark(self, key: str) -> None:
        self._keys[key] = None
        self._keys.move_to_end(key)
        if len(self._keys) > self._remembered:
            self._keys.popitem(last=False)


class SqliteDone:
    """In a file that outlives the process, for services on one machine. The last `remembered` marks are kept.

    A mark survives the death of the process; `durable=True` lets it survive a power failure, for a sync each. The table
    `odradek_done` is made beside whatever else is in the file, so that effects can be in the same transaction.
    """

    def __init__(self, path: str, remembered: int = _REMEMBERED, *, durable: bool = False) -> None:
        self._remembered = remembered
        self._since_trim = 0
        self._lock = threading.Lock()
        self._owner: int | None = None
        try:
            self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS odradek_done (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE)"
            )
        except sqlite3.Error as error:
            raise InputError(f"{path}: no SQLite database can be kept there: {error}") from None

    def seen(self, key: str) -> bool:
        with self._alone():
            row = self._connection.execute("SELECT 1 FROM odradek_done WHERE key = ?", (key,)).fetchone()
        return row is not None

    def mark(self, key: str) -> None:
        with self._alone():
            self._insert(key)

    @contextmanager
    def effects(self, key: str) -> Iterator[sqlite3.Connection]:
        """Write effects to the connection and mark the key in one transaction."""
        with self._alone():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._insert(key)
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread at a time. A thread that waited for itself, as tasks of one loop would, is told so instead."""
        me = threading.get_ident()
        if self._owner == me:
            raise InputError("effects of another message are open: no await may stand inside context.effects().")
        with self._lock:
            self._owner = me
            try:
                yield
            finally:
                self._owner = None

    def _insert(self, key: str) -> None:
        self._connection.execute("INSERT OR IGNORE INTO odradek_done (key) VALUES (?)", (key,))
        self._since_trim += 1
        if self._since_trim >= _TRIM_EVERY:
            self._since_trim = 0
            self._connection.execute(
                "DELETE FROM odradek_done WHERE number <= (SELECT max(number) FROM odradek_done) - ?",
                (self._remembered,),
            )
