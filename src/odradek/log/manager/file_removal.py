"""Files and directories that are already out of use, and are removed after a while.

A log that is deleted is renamed at once and removed after `file.delete.delay.ms`; so are single segments. The delay is
for readers that are still sending from them. What is not removed before the node stops is found by its name at the next
start, and waits anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from odradek.common.ports import Clock

if TYPE_CHECKING:
    from odradek.log.segment_list import Removal
    from odradek.log.unified_log import UnifiedLog


@dataclass(frozen=True, slots=True)
class PendingRemoval:
    """`run` may take long and touches nothing that is in use, so any thread may call it; it raises `StorageFault`."""

    due_ms: int
    log_dir: str
    path: str
    run: Callable[[], None]


class Removals:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pending: list[PendingRemoval] = []

    def add_log(self, log: UnifiedLog, delay_ms: int) -> None:
        """A whole log, already renamed."""
        self._add(delay_ms, log.log_dir, log.directory, log.delete)

    def add_segments(self, log: UnifiedLog, removal: Removal) -> None:
        self._add(removal.delay_ms, log.log_dir, log.directory, removal.run)

    def take_due(self, now_ms: int) -> list[PendingRemoval]:
        """In the order in which they became due; each is handed out once."""
        due = [pending for pending in self._pending if pending.due_ms <= now_ms]
        self._pending = [pending for pending in self._pending if pending.due_ms > now_ms]
        return sorted(due, key=lambda pending: pending.due_ms)

    def next_due_ms(self) -> int | None:
        return min((pending.due_ms for pending in self._pending), default=None)

    def drop_dir(self, log_dir: str) -> None:
        """The directory is offline: leave its files where they are."""
        self._pending = [pending for pending in self._pending if pending.log_dir != log_dir]

    def __len__(self) -> int:
        return len(self._pending)

    def _add(self, delay_ms: int, log_dir: str, path: str, run: Callable[[], None]) -> None:
        self._pending.append(PendingRemoval(self._clock.monotonic_ms() + delay_ms, log_dir, path, run))
