"""Every single operation on the disk fails once with EIO: the log goes offline, and nothing is acknowledged after it.

"A failed fsync is never retried as if it had worked."
"""

import errno

import pytest

from odradek.common.failures import ApiError, Fault
from odradek.log.errors import KafkaStorageError, StorageFault
from odradek.log.unified_log import UnifiedLog
from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import DIRECTORY, Rig, batch, stored_batches
from support.fakes.log_faults import append_mixed, content_of, file_content, new_rig, shards
from support.figures import report


def run_workload(rig: Rig, acknowledged: list[int]) -> None:
    """Appends and flushes over several segments; what is acknowledged is what a flush has covered."""
    log = rig.load(segment_bytes=1500, index_interval_bytes=200)
    try:
        for epoch in range(3):
            append_mixed(log, 4, seed=epoch, epoch=epoch, first_producer=10 * epoch + 1)
            log.flusher.flush()
            acknowledged.append(log.offsets.recovery_point)
            log.roller.roll()
        log.flusher.take_producer_snapshot()
    except StorageFault:
        check_offline(rig, log)
        raise


def check_offline(rig: Rig, log: UnifiedLog) -> None:
    """Nothing is served or accepted, and the disk is left alone."""
    disk = rig.files
    assert isinstance(disk, SimulatedDisk)
    before = len(disk.journal)
    attempts = [
        lambda: log.appender.append_as_leader(bytearray(batch("late")), 9),
        lambda: log.appender.append_as_follower(batch("late"), 9),
        lambda: log.reader.read(0, 100),
        log.flusher.flush,
        log.roller.roll,
        log.flusher.take_producer_snapshot,
        log.retention.delete_old_segments,
        lambda: log.truncation.truncate_to(0),
    ]
    for attempt in attempts:
        with pytest.raises(KafkaStorageError):
            attempt()
    log.close()
    assert len(disk.journal) == before, "an offline log writes nothing"


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
@pytest.mark.parametrize("shard", shards(2, 2), ids=str)
def test_each_operation_fails(error: int, shard: range) -> None:
    sound = new_rig()
    run_workload(sound, [])
    assert isinstance(sound.files, SimulatedDisk)
    operations = len(sound.files.journal)
    everything = file_content(sound.files)
    faults = 0
    for operation in range(shard.start, operations, 2):
        rig = new_rig()
        disk = rig.files
        assert isinstance(disk, SimulatedDisk)
        disk.fail(error, operation=operation)
        acknowledged: list[int] = []
        try:
            run_workload(rig, acknowledged)
        except Fault as fault:
            assert isinstance(fault, StorageFault), f"operation {operation}: {fault!r}"
        assert disk.faults.raised == 1
        for keep in ("all", "none"):
            after = Rig(disk.crash(keep), rig.clock, DIRECTORY, rig.config)
            found = content_of(list(stored_batches(after.load())))
            assert found.is_prefix_of(everything), f"operation {operation}, {keep}"
            end = found.next_offsets[-1] if found.next_offsets else 0
            assert end >= max(acknowledged, default=0), f"operation {operation}, {keep}"
        faults += 1
    report("operation fails", error=errno.errorcode[error], operations=faults, lost=0, acked_after=0)


def test_fsync_is_not_asked_twice() -> None:
    """Linux drops the pages that it could not write; a second fsync would succeed without them."""
    rig = new_rig()
    log = rig.load()
    log.appender.append_as_leader(bytearray(batch("never durable")), 0)
    disk = rig.files
    assert isinstance(disk, SimulatedDisk)
    disk.fail(errno.EIO, kind="sync", path="*.log")
    with pytest.raises(StorageFault, match="goes offline"):
        log.flusher.flush()
    with pytest.raises(ApiError) as refusal:
        log.flusher.flush()
    assert refusal.value.code == KafkaStorageError.code
    assert disk.journal[-1].kind == "lose", "nothing was asked of the disk after the failed sync"
    assert log.offsets.recovery_point == 0
