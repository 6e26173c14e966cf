"""A new log is made without a sync: whatever a crash leaves of it, nothing is mixed up, and nothing flushed is lost."""

from collections.abc import Iterator
from random import Random

from odradek.log.log_config import LogConfig
from odradek.log.recovery.log_loader import new_log
from odradek.log.unified_log import UnifiedLog
from odradek.sim.world.disk import SimulatedDisk
from odradek.sim.world.disk_crash import Keep
from support.builders.logs import DIRECTORY, OPTIONS, HandClock, Rig, batch, stored_batches, stored_values

TOPIC_ID = b"t" * 16
SEEDS = range(4)


def empty_disk() -> SimulatedDisk:
    disk = SimulatedDisk()
    disk.make_dirs("/data")
    disk.settle()
    return disk


def make(disk: SimulatedDisk) -> UnifiedLog:
    return new_log(disk, HandClock(), DIRECTORY, LogConfig(), TOPIC_ID, OPTIONS)


def keeps() -> Iterator[Keep]:
    yield from ("all", "none")
    for seed in SEEDS:
        yield Random(seed)


def test_nothing_is_synced_and_nothing_stays_open() -> None:
    disk = empty_disk()
    log = make(disk)
    log.epochs.begin(3, 0)
    assert disk.list_dir(DIRECTORY) == ["partition.metadata"]
    assert disk.crash("none").list_dir("/data") == []
    log.appender.append_as_leader(bytearray(batch("a")), 3)
    assert disk.crash("none").list_dir("/data") == []
    log.flusher.flush()
    after = Rig(disk.crash("none")).load(recovery_point=1)
    assert (after.topic_id, after.epochs.latest_epoch, stored_values(after)) == (TOPIC_ID, 3, [b"a"])


def test_a_crash_after_every_operation() -> None:
    disk = empty_disk()
    log = make(disk)
    flushed: list[tuple[int, int]] = []
    for number, epoch in enumerate((3, 3, 5, 6)):
        log.epochs.begin(epoch, log.offsets.log_end_offset)
        log.appender.append_as_leader(bytearray(batch(f"{number}")), epoch)
        if number in (1, 3):
            log.flusher.flush()
            flushed.append((len(disk.journal), log.offsets.recovery_point))
    crashes = 0
    for operations, state in enumerate(disk.states()):
        recovery_point = max((point for at, point in flushed if at <= operations), default=0)
        for keep in keeps():
            check(Rig(state.crash(keep)).load(recovery_point=recovery_point), recovery_point)
            crashes += 1
    assert crashes > 100


def check(log: UnifiedLog, recovery_point: int) -> None:
    assert log.topic_id in ((TOPIC_ID,) if recovery_point else (TOPIC_ID, None))
    values = stored_values(log)
    assert values == [f"{number}".encode() for number in range(len(values))]
    assert len(values) >= recovery_point
    for found in stored_batches(log):
        assert log.epochs.epoch_for_offset(found.base_offset) == found.leader_epoch
    log.appender.append_as_leader(bytearray(batch("next")), 9)
    assert stored_values(log)[-1] == b"next"
