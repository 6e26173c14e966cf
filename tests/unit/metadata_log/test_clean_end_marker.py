"""After a clean close nothing of the metadata log is ever cut: what is damaged then is rot, not a torn tail."""

import pytest

from odradek.common.failures import Fault
from odradek.metadata_log.clean_end_marker import SYNCED_END_FILE, SyncedEnd, take_synced_end, write_synced_end
from odradek.metadata_log.metadata_log import MetadataLogConfig
from odradek.sim.world.disk import SimulatedDisk
from support.builders.raft import data_batch
from support.builders.raft_logs import DIRECTORY, new_disk, open_log

NOTE = f"{DIRECTORY}/{SYNCED_END_FILE}"
SEGMENT = f"{DIRECTORY}/00000000000000000000.log"
BATCHES = 12
ONE_SEGMENT = MetadataLogConfig()


def closed_log() -> SimulatedDisk:
    disk = new_disk()
    log = open_log(disk, ONE_SEGMENT)
    for offset in range(BATCHES):
        log.append_as_leader(data_batch(offset, 1, b"value"), 1)
    log.close()
    return disk


def damage(disk: SimulatedDisk, position: int) -> None:
    data = bytearray(disk.read_file(SEGMENT))
    data[position] ^= 0x40
    disk.open(SEGMENT).write(0, bytes(data))


def test_it_is_there_while_the_log_is_closed() -> None:
    disk = closed_log()
    assert disk.exists(NOTE)
    assert open_log(disk, ONE_SEGMENT).end_offset == BATCHES
    assert not disk.exists(NOTE)


def test_damage_after_a_clean_close_is_a_fault_wherever_it_is() -> None:
    size = closed_log().size(SEGMENT)
    for position in range(17, size, 7):
        disk = closed_log()
        damage(disk, position)
        try:
            log = open_log(disk, ONE_SEGMENT)
        except Fault:
            continue
        assert log.end_offset == BATCHES, f"byte {position}: records are gone"


def test_damage_after_a_crash_at_the_end_is_a_torn_tail() -> None:
    disk = closed_log()
    disk.remove(NOTE)
    damage(disk, disk.size(SEGMENT) - 1)
    assert open_log(disk, ONE_SEGMENT).end_offset == BATCHES - 1


@pytest.mark.parametrize("content", [b"", b"12", b"x 0.log 5", b"12 ../0.log 5", b"\xff\xfe 1 2"])
def test_a_note_that_says_nothing_is_none(content: bytes) -> None:
    disk = closed_log()
    disk.remove(NOTE)
    disk.open(NOTE, create=True).append(content)
    assert take_synced_end(disk, DIRECTORY) == 0
    assert not disk.exists(NOTE)


def test_a_note_about_another_size_is_none() -> None:
    disk = closed_log()
    write_synced_end(disk, DIRECTORY, SyncedEnd(BATCHES, "00000000000000000000.log", disk.size(SEGMENT) - 1))
    assert take_synced_end(disk, DIRECTORY) == 0
