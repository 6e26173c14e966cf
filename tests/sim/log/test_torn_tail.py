"""The active segment is cut at every byte: recovery yields exactly the whole batches before the cut."""

import pytest

from odradek.records.batch import read_batches
from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import DIRECTORY, Rig, batch, stored_batches
from support.fakes.log_faults import Content, append_mixed, content_of, file_content, new_rig, shards
from support.figures import report

TAIL_BYTES = 4096


def stopped_log(sealed: int, active: int) -> tuple[Rig, SimulatedDisk, Content, str]:
    """A log as a killed process leaves it: rig, disk, all its batches, and the path of the active segment."""
    rig = new_rig()
    log = rig.load()
    append_mixed(log, sealed, seed=1)
    log.roller.roll()
    append_mixed(log, active, seed=2, first_producer=11)
    disk = rig.files
    assert isinstance(disk, SimulatedDisk)
    return rig, disk, file_content(disk), log.segments.active.log_path


def cut_and_recover(disk: SimulatedDisk, rig: Rig, path: str, size: int) -> tuple[Rig, Content]:
    found = Rig(disk.crash("all"), rig.clock, DIRECTORY, rig.config)
    file = found.files.open(path)
    file.truncate(size)
    file.close()
    log = found.load()
    recovered = content_of(list(stored_batches(log)))
    log.close_handlers()
    return found, recovered


def check_cut(disk: SimulatedDisk, rig: Rig, path: str, size: int, expected: Content) -> None:
    found, recovered = cut_and_recover(disk, rig, path, size)
    assert recovered == expected
    before = file_content(found.files)
    again = found.load()
    assert file_content(found.files) == before, "recovery is idempotent"
    again.appender.append_as_leader(bytearray(batch("after the crash")), 1)
    last = list(stored_batches(again))[-1]
    assert [record.value for record in last.records()] == [b"after the crash"]
    assert last.base_offset == (expected.next_offsets[-1] if expected.next_offsets else 0)


def whole_batches(everything: Content, in_active: int, size: int) -> Content:
    """What a cut to `size` bytes leaves; `in_active` is how many batches the active segment had."""
    sealed = len(everything.batches) - in_active
    left = size
    count = sealed
    for data in everything.batches[sealed:]:
        left -= len(data)
        if left < 0:
            break
        count += 1
    return Content(everything.batches[:count], everything.next_offsets[:count])


@pytest.mark.slow
@pytest.mark.parametrize("shard", shards(TAIL_BYTES), ids=str)
def test_every_cut_of_the_last_bytes(shard: range) -> None:
    rig, disk, everything, path = stopped_log(4, 14)
    size = disk.size(path)
    assert size > TAIL_BYTES, "the tail must lie in one segment"
    in_active = len(list(read_batches(disk.read_file(path))))
    assert in_active < len(everything.batches), "there must be a sealed segment too"
    for back in shard:
        cut = size - back
        check_cut(disk, rig, path, cut, whole_batches(everything, in_active, cut))
    report("torn tail", cuts=len(shard), lost=0, raised=0)


def test_every_cut_of_a_small_log() -> None:
    rig, disk, everything, path = stopped_log(0, 4)
    assert disk.size(path) < TAIL_BYTES
    for cut in range(disk.size(path) + 1):
        check_cut(disk, rig, path, cut, whole_batches(everything, len(everything.batches), cut))
    report("torn tail, small log", cuts=disk.size(path) + 1, lost=0, raised=0)
