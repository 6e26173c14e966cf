"""Start offsets of the leader epochs of one partition (KIP-101, KIP-279).

A follower that comes back asks the leader where its own last epoch ended and cuts its log there; this cache gives the
answers. Epochs and start offsets both only grow; an entry that breaks this (an unclean election took place) pushes out
the ones it contradicts.

What is durable when: `assign` writes the checkpoint before it returns, so the file never lacks an epoch that has
data. `begin` writes nothing: an epoch without data means nothing to those who come later. The two truncations
only mark the cache `dirty`; whoever truncates calls `flush` when it suits (Kafka does it in the background). Stale
entries that a crash brings back are truncated again by the loader, so they do no harm.

The first entry of a new log is written but not synced (`is_unsynced`), as a node may make thousands at once: a crash
that loses it leaves nothing to be mixed up with, and the loader learns it from the batches. The log's next flush syncs
the file before it moves the recovery point.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from odradek.common.failures import check
from odradek.common.ports import FileSystem
from odradek.log.file_names import LEADER_EPOCH_CHECKPOINT
from odradek.log.manager.checkpoint_files import EpochEntry, read_epoch_checkpoint, write_epoch_checkpoint

UNDEFINED_EPOCH = -1
UNDEFINED_EPOCH_OFFSET = -1


class EpochEnd(NamedTuple):
    """The largest epoch up to the one asked for, and where it ends; both -1 if that cannot be said."""

    epoch: int
    end_offset: int


#: Larger than any offset.
END_OF_OFFSETS = 2**63


class EpochSpan(NamedTuple):
    """Batches that begin before `end` have `epoch`, as far as is known (`UNDEFINED_EPOCH`: nothing is)."""

    epoch: int
    end: int


UNDEFINED_END = EpochEnd(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)


class LeaderEpochs:
    def __init__(self, files: FileSystem, directory: str, entries: Iterable[EpochEntry] = ()) -> None:
        """`entries` as they stand in the checkpoint of `directory`; see `load`."""
        self._files = files
        self._directory = directory
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self.dirty = False
        #: The file was written and not synced since.
        self.is_unsynced = False
        for epoch, start_offset in entries:
            self._put(epoch, start_offset)
        self._is_in_file = bool(self._epochs)
        self._has_begun = False
        #: Came from a checkpoint, which never lacks an epoch that has data; else it is being learned from the batches.
        self.is_complete = bool(self._epochs)

    @classmethod
    def load(cls, files: FileSystem, directory: str) -> "LeaderEpochs":
        """From the checkpoint in `directory`; raises CorruptCheckpoint."""
        return cls(files, directory, read_epoch_checkpoint(files, directory))

    def begin(self, epoch: int, start_offset: int) -> None:
        """A leader begins `epoch`, and has written nothing yet: the checkpoint is told with its first batch."""
        if not self._is_latest(epoch, start_offset):
            self._put(epoch, start_offset)
            self._has_begun = True

    def assign(self, epoch: int, start_offset: int) -> None:
        """A batch of `epoch` begins at `start_offset`. A no-op for the latest epoch at or after its start."""
        epochs = self._epochs
        if epochs and epoch == epochs[-1] and start_offset >= self._starts[-1] and not self._has_begun:
            return
        self._put(epoch, start_offset)
        self._write()

    def assign_all(self, entries: Iterable[EpochEntry]) -> None:
        """Assign several epochs with one write."""
        previous = self.entries()
        for epoch, start_offset in entries:
            self._put(epoch, start_offset)
        if self._has_begun or self.entries() != previous:
            self._write()

    def mark_synced(self) -> None:
        """Note that the file was synced."""
        self.is_unsynced = False

    @property
    def latest_epoch(self) -> int | None:
        return self._epochs[-1] if self._epochs else None

    @property
    def latest_entry(self) -> EpochEntry | None:
        return EpochEntry(self._epochs[-1], self._starts[-1]) if self._epochs else None

    @property
    def earliest_entry(self) -> EpochEntry | None:
        return EpochEntry(self._epochs[0], self._starts[0]) if self._epochs else None

    def entries(self) -> list[EpochEntry]:
        return list(map(EpochEntry, self._epochs, self._starts))

    def entry(self, epoch: int) -> EpochEntry | None:
        slot = bisect_left(self._epochs, epoch)
        if slot < len(self._epochs) and self._epochs[slot] == epoch:
            return EpochEntry(epoch, self._starts[slot])
        return None

    def previous_entry(self, epoch: int) -> EpochEntry | None:
        """The entry with the largest epoch below `epoch`."""
        slot = bisect_left(self._epochs, epoch) - 1
        return EpochEntry(self._epochs[slot], self._starts[slot]) if slot >= 0 else None

    def previous_epoch(self, epoch: int | None = None) -> int | None:
        """The largest epoch below `epoch`, or below the latest one."""
        slot = len(self._epochs) - 2 if epoch is None else bisect_left(self._epochs, epoch) - 1
        return self._epochs[slot] if slot >= 0 else None

    def next_epoch(self, epoch: int) -> int | None:
        slot = bisect_right(self._epochs, epoch)
        return self._epochs[slot] if slot < len(self._epochs) else None

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEnd:
        """Return the end of `epoch`, or else of the largest one below it.

        The latest epoch ends where the log does. An epoch before the first known one is answered with itself and the
        start of the first: its data is gone, and the follower can go on from there. An epoch that is undefined or
        larger than any known one has no answer."""
        epochs = self._epochs
        if epoch == UNDEFINED_EPOCH or not epochs or epoch > epochs[-1]:
            return UNDEFINED_END
        if epoch == epochs[-1]:
            return EpochEnd(epoch, log_end_offset)
        higher = bisect_right(epochs, epoch)
        lower_epoch = epochs[higher - 1] if higher else epoch
        return EpochEnd(lower_epoch, self._starts[higher])

    def epoch_for_offset(self, offset: int) -> int | None:
        slot = bisect_right(self._starts, offset) - 1
        return self._epochs[slot] if slot >= 0 else None

    def span_at(self, offset: int) -> "EpochSpan":
        """Return the epoch that a batch at `offset` must have, with the end of that epoch; for walks along batches."""
        next_index = bisect_right(self._starts, offset)
        end = self._starts[next_index] if next_index < len(self._starts) else END_OF_OFFSETS
        return EpochSpan(self._epochs[next_index - 1] if next_index else UNDEFINED_EPOCH, end)

    def entries_in_range(self, start_offset: int, end_offset: int) -> list[EpochEntry]:
        """Return the entries of a log from `start_offset` to `end_offset`; the first one begins where the log does. A
        negative offset leaves its side open."""
        part = LeaderEpochs(self._files, self._directory, self.entries())
        if start_offset >= 0:
            part.truncate_from_start(start_offset)
        part.truncate_from_end(end_offset)
        return part.entries()

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget the epochs that start at `end_offset` or later."""
        if end_offset < 0:
            return
        keep = bisect_left(self._starts, end_offset)
        if keep < len(self._starts):
            del self._epochs[keep:], self._starts[keep:]
            self.dirty = True

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget the epochs that end before `start_offset`; the one that spans it now begins there."""
        spanning = bisect_right(self._starts, start_offset) - 1
        if spanning < 0 or (spanning == 0 and self._starts[0] == start_offset):
            return
        del self._epochs[:spanning], self._starts[:spanning]
        self._starts[0] = start_offset
        self.dirty = True

    def clear(self) -> None:
        """Forget everything, in memory only."""
        self._epochs.clear()
        self._starts.clear()

    def clear_and_flush(self) -> None:
        self.clear()
        self._write()

    def flush(self) -> None:
        """Write the checkpoint if a truncation has left it behind."""
        if self.dirty:
            self._write()

    @property
    def path(self) -> str:
        return f"{self._directory}/{LEADER_EPOCH_CHECKPOINT}"

    def update_directory(self, directory: str) -> None:
        """The partition's directory was renamed."""
        self._directory = directory

    def _is_latest(self, epoch: int, start_offset: int) -> bool:
        return bool(self._epochs) and epoch == self._epochs[-1] and start_offset >= self._starts[-1]

    def _put(self, epoch: int, start_offset: int) -> None:
        check(epoch >= 0 and start_offset >= 0, f"epoch {epoch} at offset {start_offset}: neither may be negative")
        if self._is_latest(epoch, start_offset):
            return
        epochs, starts = self._epochs, self._starts
        while epochs and (epochs[-1] >= epoch or starts[-1] >= start_offset):
            epochs.pop()
            starts.pop()
        epochs.append(epoch)
        starts.append(start_offset)

    def _write(self) -> None:
        # A part of the line of an epoch that begins at 0 is no line: a torn file is never taken for a sound one.
        is_first = not self._is_in_file and self._starts == [0]
        write_epoch_checkpoint(self._files, self._directory, self.entries(), sync=not is_first)
        self._is_in_file = True
        self.is_unsynced = is_first
        self.dirty = self._has_begun = False
