"""One bit is wrong somewhere in a segment: it is noticed at recovery and on fetch, and never served."""

from collections.abc import Iterator

import pytest

from odradek.common.failures import Fault
from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import DIRECTORY, Rig, batch, idempotent, stored_batches
from support.fakes.log_faults import Content, content_of, file_content, new_rig, shards
from support.figures import report

SEGMENT = f"{DIRECTORY}/00000000000000000000.log"


def three_batches() -> tuple[Rig, SimulatedDisk, Content]:
    """One segment, synced and closed: two epochs, a plain batch, an idempotent one, and one of two records."""
    rig = new_rig()
    log = rig.load()
    log.appender.append_as_leader(bytearray(batch("one")), 3)
    log.appender.append_as_leader(bytearray(idempotent(7, 0, "two")), 3)
    log.appender.append_as_leader(bytearray(batch("three", "four")), 5)
    log.flusher.flush()
    log.close()
    disk = rig.files
    assert isinstance(disk, SimulatedDisk)
    return rig, disk, file_content(disk)


def flipped(disk: SimulatedDisk, rig: Rig, bit: int) -> Rig:
    copy = disk.copy()
    flip(copy, SEGMENT, bit)
    return Rig(copy, rig.clock, DIRECTORY, rig.config)


def flip(disk: SimulatedDisk, path: str, bit: int) -> None:
    file = disk.open(path)
    byte = file.read(bit // 8, 1)[0] ^ (1 << bit % 8)
    file.write(bit // 8, bytes([byte]))
    file.sync()
    file.close()


def damaged_batch(original: Content, bit: int) -> int:
    return next(index for index, end in enumerate(original.ends()) if bit // 8 < end)


SHARDS = shards(sum(len(data) for data in three_batches()[2].batches) * 8, 2)


@pytest.mark.parametrize("shard", SHARDS, ids=str)
def test_recovery_keeps_only_what_is_sound(shard: range) -> None:
    """Above the recovery point the log ends before the damaged batch, or the replica fails; both notice."""
    rig, disk, original = three_batches()
    for bit in shard:
        found = flipped(disk, rig, bit)
        try:
            log = found.load(recovery_point=0)
        except Fault:
            continue
        recovered = content_of(list(stored_batches(log)))
        assert recovered.is_prefix_of(original)
        assert len(recovered.batches) <= damaged_batch(original, bit), f"bit {bit} went unnoticed"
    report("bit flips at recovery", flips=len(shard), unnoticed=0)


@pytest.mark.parametrize("shard", SHARDS, ids=str)
def test_damage_below_the_recovery_point_cuts_nothing(shard: range) -> None:
    rig, disk, original = three_batches()
    end = original.next_offsets[-1]
    for bit in shard:
        found = flipped(disk, rig, bit)
        before = found.files.read_file(SEGMENT)
        with pytest.raises(Fault):
            list(stored_batches(found.load(recovery_point=end)))
        assert found.files.read_file(SEGMENT) == before
    report("bit flips below the recovery point", flips=len(shard), cut=0)


@pytest.mark.parametrize("shard", SHARDS, ids=str)
def test_damage_is_never_served(shard: range) -> None:
    """The bit turns under a log that is open, and one that was opened after a clean stop."""
    rig, disk, original = three_batches()
    for bit in shard:
        running = Rig(disk.copy(), rig.clock, DIRECTORY, rig.config)
        log = running.load(clean_shutdown=True)
        flip(running.files, SEGMENT, bit)
        assert all(data in original.batches for data in served(log)), f"bit {bit} was served"
        try:
            log = flipped(disk, rig, bit).load(clean_shutdown=True, recovery_point=original.next_offsets[-1])
        except Fault:
            continue
        assert all(data in original.batches for data in served(log)), f"bit {bit} was served"
    report("bit flips on fetch", flips=2 * len(shard), served=0)


def served(log) -> Iterator[bytes]:  # type: ignore[no-untyped-def]
    try:
        for found in stored_batches(log):
            yield bytes(found.buffer)
    except Fault:
        return
