"""Notifies the state machine above the log: commits in order, snapshots where the log starts later, leaders.

There is one stream of effects: `Commit` and `LoadSnapshot` cover everything from the first offset on exactly once, and
the `LeaderChange` of this replica's own leadership follows every commit of earlier epochs.
"""

from collections import deque
from collections.abc import Callable

from odradek.common.failures import check
from odradek.raft.effects import Commit, CommittedBatch, Effect, LeaderChange, LoadSnapshot
from odradek.raft.states.leader import Leader
from odradek.raft.states.resigned import Resigned
from odradek.raft.states.state import State
from odradek.raft.storage.batch_accumulator import PendingBatch
from odradek.raft.storage.raft_log import RaftLog
from odradek.raft.values import BOOTSTRAP_SNAPSHOT_ID, LeaderAndEpoch
from odradek.records.batch import Batch, read_batches

#: How much of the log one step reads: a replica that starts with a long log still handles requests in between.
COMMIT_READ_BYTES = 1 << 20


class CommitListener:
    def __init__(self, emit: Callable[[Effect], None]) -> None:
        self._emit = emit
        #: Where the next commit begins. None: there was none yet, so begin with a snapshot if there is one.
        self.next_offset: int | None = None
        self._leader = LeaderAndEpoch(None, 0)
        #: Batches that this leader has appended and that are not committed yet; they need not be read back.
        self._retained: deque[tuple[int, PendingBatch]] = deque()

    def retain(self, epoch: int, batch: PendingBatch) -> None:
        """Keep an appended batch in memory until it is committed."""
        self._retained.append((epoch, batch))

    def drop_retained(self) -> None:
        self._retained.clear()

    def advance(self, log: RaftLog, high_watermark: int) -> bool:
        """Emit the next committed batches. Return whether there are more."""
        if (self.next_offset is None or self.next_offset < log.start_offset) and (
            self.next_offset or 0
        ) < high_watermark:
            self._begin(log)
        next_offset = self.next_offset
        if next_offset is None or next_offset >= high_watermark:
            return False
        batches = self._from_memory(next_offset, high_watermark) or self._from_log(log, next_offset, high_watermark)
        self._emit(Commit(tuple(batches)))
        self.next_offset = batches[-1].last_offset + 1
        return self.next_offset < high_watermark

    def _begin(self, log: RaftLog) -> None:
        snapshot_id = log.latest_snapshot_id
        if snapshot_id is None:
            check(log.start_offset == 0, f"the log starts at {log.start_offset} without a snapshot")
            self.next_offset = 0
            return
        self._emit(LoadSnapshot(snapshot_id, snapshot_id == BOOTSTRAP_SNAPSHOT_ID))
        self.next_offset = snapshot_id.offset

    def _from_memory(self, next_offset: int, high_watermark: int) -> list[CommittedBatch]:
        retained = self._retained
        while retained and retained[0][1].last_offset < next_offset:
            retained.popleft()
        batches = []
        while retained and retained[0][1].last_offset < high_watermark and retained[0][1].base_offset == next_offset:
            epoch, batch = retained.popleft()
            batches.append(
                CommittedBatch(
                    batch.base_offset,
                    batch.last_offset,
                    epoch,
                    batch.append_time_ms,
                    len(batch.data),
                    batch.values,
                    batch.is_control,
                    batch.objects,
                )
            )
            next_offset = batch.last_offset + 1
        return batches

    def _from_log(self, log: RaftLog, next_offset: int, high_watermark: int) -> list[CommittedBatch]:
        data = log.read(next_offset, COMMIT_READ_BYTES, committed=True)
        batches = [committed_batch(batch) for batch in read_batches(data) if batch.last_offset < high_watermark]
        check(bool(batches), f"the log has nothing at {next_offset}, below the high watermark {high_watermark}")
        check(batches[0].base_offset == next_offset, f"{batches[0].base_offset} was read, not {next_offset}")
        return batches

    def maybe_leader_change(self, state: State) -> None:
        """Emit the leader of `state`, if it is a new one."""
        leader, last = state.leader_and_epoch, self._leader
        is_new = leader.epoch > last.epoch or (last.leader_id is None and leader.leader_id is not None)
        if leader == last or not is_new or isinstance(state, Resigned):
            return
        if isinstance(state, Leader) and (self.next_offset or 0) <= state.epoch_start_offset:
            return  # there are commits of earlier epochs to come, and nothing may be decided without them
        self._leader = leader
        self._emit(LeaderChange(leader))


def committed_batch(batch: Batch) -> CommittedBatch:
    batch.check()
    values = () if batch.is_control else tuple(record.value or b"" for record in batch.records())
    return CommittedBatch(
        batch.base_offset,
        batch.last_offset,
        batch.leader_epoch,
        batch.max_timestamp,
        batch.size_bytes,
        values,
        batch.is_control,
    )
