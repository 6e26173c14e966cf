"""Effects of a step, for the driver. The order matters: each effect is carried out, and durable where it says so,
before the next begins, and all of them before the next step.

Appending to, truncating and reading the log are calls on the port `RaftLog` and have happened when the step returns;
what makes them durable is the `Flush` in this list, and nothing that depends on it stands before it.
"""

from dataclasses import dataclass

from odradek.protocol.message import Message
from odradek.raft.storage.quorum_state_file import ElectionState
from odradek.raft.values import Destination, LeaderAndEpoch, OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class Persist:
    """Replace `quorum-state`, synced: see `quorum_store.QuorumStateStore.write`."""

    election: ElectionState
    data_version: int


@dataclass(frozen=True, slots=True)
class Flush:
    """Sync the log: everything that was appended so far. May run in a thread, as long as it is waited for."""


@dataclass(frozen=True, slots=True)
class Send:
    """A request to another node; `Response` or `RequestFailed` with the same id should come back. It may be dropped."""

    correlation_id: int
    destination: Destination
    message: Message


@dataclass(frozen=True, slots=True)
class Reply:
    """Response to the `Request` with this handle."""

    handle: object
    message: Message


@dataclass(frozen=True, slots=True)
class CommittedBatch:
    """A batch below the high watermark. A control batch has no values, but its offsets count.

    `objects` is what the leader's own caller gave with the values, None for what was read from the log.
    """

    base_offset: int
    last_offset: int
    epoch: int
    append_time_ms: int
    size_bytes: int
    values: tuple[bytes, ...]
    is_control: bool = False
    objects: tuple[object, ...] | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """The next committed batches, without gaps."""

    batches: tuple[CommittedBatch, ...]


@dataclass(frozen=True, slots=True)
class LoadSnapshot:
    """Restart from this snapshot (`Raft.read_snapshot`); commits continue at its end.

    The bootstrap snapshot says what a new cluster begins with, and is no state of the cluster.
    """

    id: OffsetAndEpoch
    is_bootstrap: bool


@dataclass(frozen=True, slots=True)
class LeaderChange:
    """New leader. A replica learns of its own leadership only after all commits from before it."""

    leader: LeaderAndEpoch


@dataclass(frozen=True, slots=True)
class Stopped:
    """The last effect there is. `handed_over` is false if the shutdown ran out of time."""

    handed_over: bool


Effect = Persist | Flush | Send | Reply | Commit | LoadSnapshot | LeaderChange | Stopped
