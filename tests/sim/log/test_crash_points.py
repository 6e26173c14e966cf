"""The power goes after any single operation on the disk, and keeps all, none or any part of what was not synced.

A workload runs once on a simulated disk that journals every operation. Then, for each of the states in between, the
node starts again on what the crash has left. What must hold:

* everything that was flushed before the crash is there, and what is there was written: a prefix, nothing else;
* small state files are old or new, never a mix;
* the log goes on: the next append is read back.
"""

from dataclasses import dataclass, field
from random import Random

import pytest

from odradek.common.ids import TopicPartition
from odradek.common.ports import write_atomically
from odradek.log.manager.checkpoint_files import read_offset_checkpoint, write_offset_checkpoint
from odradek.log.unified_log import UnifiedLog
from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import DIRECTORY, Rig, batch, stored_batches
from support.fakes.log_faults import Content, append_mixed, content_of, file_content, new_rig, scaled, shards
from support.figures import report

CHECKPOINT = "/data/recovery-point-offset-checkpoint"
VOTE = "/data/quorum-state"
PARTITION = TopicPartition("topic", 0)
RANDOM_CRASHES = scaled(4)


@dataclass(slots=True)
class Workload:
    """What was promised when: after so many operations, so many offsets are durable, and the vote is this one."""

    rig: Rig
    disk: SimulatedDisk
    durable: list[tuple[int, int]] = field(default_factory=list)
    votes: list[tuple[int, bytes]] = field(default_factory=list)
    content: Content = field(default_factory=lambda: Content((), ()))

    def promise(self, log: UnifiedLog) -> None:
        self.durable.append((len(self.disk.journal), log.offsets.recovery_point))

    def durable_at(self, operations: int) -> int:
        return max((offset for count, offset in self.durable if count <= operations), default=0)

    def votes_at(self, operations: int) -> set[bytes]:
        """The last vote that was answered, and the one that may be under way."""
        answered = [vote for count, vote in self.votes if count <= operations]
        coming = [vote for count, vote in self.votes if count > operations]
        return {*(answered[-1:] or [b""]), *coming[:1]}


def run_workload() -> Workload:
    """Append, flush, roll, checkpoint, snapshot, change of epoch, retention, truncation of nothing, and a vote."""
    rig = new_rig()
    disk = rig.files
    assert isinstance(disk, SimulatedDisk)
    work = Workload(rig, disk)
    log = rig.load(segment_bytes=1500, index_interval_bytes=200)
    for epoch in range(4):
        append_mixed(log, 4, seed=epoch, epoch=epoch, first_producer=10 * epoch + 1)
        log.flusher.flush()
        work.promise(log)
        write_offset_checkpoint(disk, CHECKPOINT, {PARTITION: log.offsets.recovery_point})
        vote = b'{"leaderEpoch":%d}' % epoch * 40
        write_atomically(disk, VOTE, vote)
        work.votes.append((len(disk.journal), vote))
        append_mixed(log, 2, seed=10 + epoch, epoch=epoch, first_producer=10 * epoch + 5)
        log.flusher.take_producer_snapshot()
        log.roller.roll()
    append_mixed(log, 2, seed=99, epoch=3, first_producer=91)
    work.content = file_content(disk)
    return work


def restart(work: Workload, disk: SimulatedDisk) -> UnifiedLog:
    points = read_offset_checkpoint(disk, CHECKPOINT)
    rig = Rig(disk, work.rig.clock, DIRECTORY, work.rig.config)
    return rig.load(recovery_point=points.get(PARTITION, 0))


def check_crash(work: Workload, operations: int, disk: SimulatedDisk, what: str) -> None:
    log = restart(work, disk)
    found = content_of(list(stored_batches(log)))
    assert found.is_prefix_of(work.content), what
    end = found.next_offsets[-1] if found.next_offsets else 0
    assert end >= work.durable_at(operations), what
    assert log.offsets.log_end_offset == end, what
    vote = disk.read_file(VOTE) if disk.exists(VOTE) else b""
    assert vote in work.votes_at(operations), what
    log.appender.append_as_leader(bytearray(batch("on we go")), 9)
    last = list(stored_batches(log))[-1]
    assert last.base_offset == end and next(last.records()).value == b"on we go", what
    log.flusher.flush()
    again = restart(work, disk.crash("none"))
    assert again.offsets.log_end_offset == end + 1, what


@pytest.mark.slow
@pytest.mark.parametrize("shard", shards(4, 4), ids=str)
def test_crash_after_every_operation(shard: range) -> None:
    work = run_workload()
    crashes = 0
    for operations, disk in enumerate(work.disk.states()):
        if operations % 4 != shard.start:
            continue
        kept = [disk.crash("all"), disk.crash("none")]
        kept += [disk.crash(Random(f"{operations}/{number}")) for number in range(RANDOM_CRASHES)]
        for number, after in enumerate(kept):
            check_crash(work, operations, after, f"after {operations} operations, crash {number}")
            crashes += 1
    report("crash at every operation", operations=len(work.disk.journal) // 4, crashes=crashes, lost=0, mixed=0)
