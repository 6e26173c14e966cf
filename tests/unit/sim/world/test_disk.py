"""The simulated disk keeps what was synced, and of the rest any part."""

import errno
from random import Random

import pytest

from odradek.common.ports import File, write_atomically
from odradek.sim.world.disk import SimulatedDisk


def made(disk: SimulatedDisk, path: str, content: bytes) -> File:
    file = disk.open(path, create=True)
    file.append(content)
    return file


@pytest.fixture
def disk() -> SimulatedDisk:
    disk = SimulatedDisk()
    disk.make_dirs("/d/sub")
    disk.settle()
    return disk


def test_a_written_byte_is_readable_at_once_and_gone_after_a_crash(disk: SimulatedDisk) -> None:
    file = made(disk, "/d/a", b"one")
    assert disk.read_file("/d/a") == b"one" == file.read(0, 10)
    disk.sync_dir("/d")
    assert disk.crash("none").read_file("/d/a") == b""
    assert disk.crash("all").read_file("/d/a") == b"one"


def test_a_synced_file_needs_a_synced_name(disk: SimulatedDisk) -> None:
    made(disk, "/d/a", b"one").sync()
    assert not disk.crash("none").exists("/d/a")
    disk.sync_dir("/d")
    assert disk.crash("none").read_file("/d/a") == b"one"


def test_a_rename_is_old_or_new_as_a_whole(disk: SimulatedDisk) -> None:
    write_atomically(disk, "/d/state", b"old")
    write_atomically(disk, "/d/state", b"new", sync=False)
    seen = {disk.crash(Random(seed)).read_file("/d/state") for seed in range(200)}
    # Without a sync the name may point at content that never arrived, which is why `sync` is the default.
    assert b"old" in seen and b"new" in seen and len(seen) > 2


def test_an_atomic_write_is_old_or_new_at_every_operation(disk: SimulatedDisk) -> None:
    write_atomically(disk, "/d/state", b"old")
    disk.settle()
    write_atomically(disk, "/d/state", b"new")
    states = 0
    for state in disk.states():
        for keep in ("all", "none", *(Random(seed) for seed in range(20))):
            assert state.crash(keep).read_file("/d/state") in (b"old", b"new")
            states += 1
    assert states == 22 * (1 + len(disk.journal))
    assert disk.crash("none").read_file("/d/state") == b"new"


def test_unsynced_writes_are_torn_anywhere(disk: SimulatedDisk) -> None:
    file = made(disk, "/d/a", b"")
    file.sync()
    disk.sync_dir("/d")
    file.append(bytes([1]) * 600)
    file.append(bytes([2]) * 600)
    found = {disk.crash(Random(seed)).read_file("/d/a") for seed in range(500)}
    lengths = {len(content) for content in found}
    assert {0, 600, 1200} <= lengths and len(lengths) > 20
    # The second write may arrive without the first: the file has a hole then.
    assert any(content[:600] == bytes(600) and content[600:] for content in found)


def test_the_same_seed_gives_the_same_disk(disk: SimulatedDisk) -> None:
    made(disk, "/d/a", bytes(range(200)))
    first, second = (disk.crash(Random(7)) for _ in range(2))
    assert first.list_dir("/d") == second.list_dir("/d")
    assert all(first.read_file(f"/d/{n}") == second.read_file(f"/d/{n}") for n in first.list_dir("/d") if n != "sub")


def test_states_replays_the_journal(disk: SimulatedDisk) -> None:
    file = made(disk, "/d/a", b"1")
    disk.rename("/d/a", "/d/sub/b")
    file.append(b"2")  # a descriptor goes with its file, not with its name
    file.truncate(1)
    disk.make_dirs("/d/new")
    disk.remove("/d/sub/b")
    contents = [s.read_file("/d/sub/b") if s.exists("/d/sub/b") else None for s in disk.states()]
    assert contents == [None, None, None, b"1", b"12", b"1", b"1", None]
    assert [operation.kind for operation in disk.journal] == [
        "create",
        "write",
        "rename",
        "write",
        "truncate",
        "mkdir",
        "remove",
    ]


def test_the_nth_operation_fails_once(disk: SimulatedDisk) -> None:
    disk.fail(errno.EIO, operation=1)
    file = disk.open("/d/a", create=True)
    with pytest.raises(OSError, match="Input/output error") as raised:
        file.append(b"x")
    assert raised.value.filename == "/d/a"
    file.append(b"y")
    assert disk.read_file("/d/a") == b"y"


def test_matching_operations_fail_for_ever(disk: SimulatedDisk) -> None:
    disk.fail(errno.ENOSPC, kind="write", path="/d/*.log", times=None)
    log, other = disk.open("/d/1.log", create=True), disk.open("/d/2.txt", create=True)
    for _ in range(3):
        with pytest.raises(OSError):
            log.append(b"x")
        other.append(b"x")
    assert disk.faults.raised == 3


def test_a_failed_sync_forgets_what_it_should_have_written(disk: SimulatedDisk) -> None:
    file = made(disk, "/d/a", b"lost")
    disk.sync_dir("/d")
    disk.fail(kind="sync")
    with pytest.raises(OSError):
        file.sync()
    assert disk.read_file("/d/a") == b"lost"
    file.append(b"kept")
    file.sync()  # it "works", and the first four bytes are still not on the disk
    assert disk.crash("none").read_file("/d/a") == bytes(4) + b"kept"
    assert [state.crash("none") for state in disk.states()][-1].read_file("/d/a") == bytes(4) + b"kept"


def test_a_full_disk_takes_what_fits() -> None:
    disk = SimulatedDisk(capacity_bytes=10)
    file = disk.open("/a", create=True)
    file.append(b"1234567")
    with pytest.raises(OSError) as raised:
        file.append(b"89abcd")
    assert raised.value.errno == errno.ENOSPC
    assert disk.read_file("/a") == b"123456789a"
    disk.remove("/a")
    made(disk, "/b", b"0123456789")
    assert disk.used_bytes() == 10


def test_errors_are_those_of_a_real_file_system(disk: SimulatedDisk) -> None:
    made(disk, "/d/a", b"")
    for call in (
        lambda: disk.open("/d/none"),
        lambda: disk.read_file("/d/none"),
        lambda: disk.list_dir("/none"),
        lambda: disk.rename("/d/none", "/d/b"),
        lambda: disk.open("/none/a", create=True),
    ):
        with pytest.raises(FileNotFoundError):
            call()
    with pytest.raises(IsADirectoryError):
        disk.open("/d/sub")
    with pytest.raises(NotADirectoryError):
        disk.list_dir("/d/a")
    with pytest.raises(FileExistsError):
        disk.make_dirs("/d/a/b")
    with pytest.raises(OSError):
        disk.open("/d/a", writable=False).append(b"x")


def test_a_directory_is_renamed_and_removed_with_what_is_in_it(disk: SimulatedDisk) -> None:
    made(disk, "/d/sub/a", b"1").sync()
    disk.settle()
    disk.rename("/d/sub", "/d/other")
    assert disk.read_file("/d/other/a") == b"1"
    assert disk.crash("none").read_file("/d/sub/a") == b"1"
    disk.remove_tree("/d/other")
    assert disk.list_dir("/d") == []
