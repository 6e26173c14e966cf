"""Taking possession of log directories: bad input is told clearly, and changes nothing on disk."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.common.failures import InputError
from odradek.common.files import OsFileSystem
from odradek.common.locks import DirLocked, lock_dir
from odradek.log.manager.log_directories import OpenedDirs, open_log_dirs
from odradek.log.manager.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from odradek.sim.world.disk import SimulatedDisk

CLUSTER = "mYclUster-0000000000000"
IDS = [bytes([number]) * 16 for number in range(1, 9)]


class NoLock:
    created = False
    path = ""

    def release(self) -> None: ...


def no_lock(_: str) -> NoLock:
    return NoLock()


def open_dirs(
    disk: SimulatedDisk,
    *paths: str,
    cluster_id: str | None = CLUSTER,
    node_id: int = 1,
    lock: Callable[[str], NoLock] = no_lock,
) -> OpenedDirs:
    ids = iter(IDS)
    return open_log_dirs(
        disk,
        paths,
        cluster_id=cluster_id,
        node_id=node_id,
        new_directory_id=lambda: next(ids),
        now_ms=0,
        lock=lock,
    )


@pytest.fixture
def disk() -> SimulatedDisk:
    disk = SimulatedDisk()
    disk.make_dirs("/a")
    write_meta_properties(disk, "/a", MetaProperties(cluster_id=CLUSTER, node_id=1, directory_id=b"a" * 16), 0)
    disk.settle()
    return disk


def test_new_directories_are_made_and_marked(disk: SimulatedDisk) -> None:
    opened = open_dirs(disk, "/a", "/b/c")
    assert [(found.path, found.directory_id) for found in opened.live] == [("/a", b"a" * 16), ("/b/c", IDS[0])]
    assert read_meta_properties(disk, "/b/c") == MetaProperties(1, CLUSTER, 1, IDS[0])
    again = open_dirs(disk, "/a", "/b/c", cluster_id=None)
    assert again.cluster_id == CLUSTER
    assert [found.directory_id for found in again.live] == [b"a" * 16, IDS[0]]


def test_a_directory_without_an_id_gets_one(disk: SimulatedDisk) -> None:
    disk.make_dirs("/old")
    write_meta_properties(disk, "/old", MetaProperties(cluster_id=CLUSTER, node_id=1), 0)
    (opened,) = open_dirs(disk, "/old").live
    meta = read_meta_properties(disk, "/old")
    assert meta is not None
    assert meta.directory_id == opened.directory_id == IDS[0]


def refuse(disk: SimulatedDisk, *paths: str, **arguments: object) -> str:
    """The message; the disk is as before."""
    before = snapshot(disk)
    with pytest.raises(InputError) as raised:
        open_dirs(disk, *paths, **arguments)  # type: ignore[arg-type]
    assert snapshot(disk) == before
    return str(raised.value)


def snapshot(disk: SimulatedDisk, path: str = "") -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for name in disk.list_dir(path or "/"):
        child = f"{path}/{name}"
        if disk.is_dir(child):
            found |= {child: None, **snapshot(disk, child)}
        else:
            found[child] = disk.read_file(child)
    return found


def test_another_cluster_is_refused(disk: SimulatedDisk) -> None:
    message = refuse(disk, "/new", "/a", cluster_id="another")
    assert message.startswith(f"/a/meta.properties: cluster.id is {CLUSTER}, but this node belongs to cluster another.")
    assert "Point log.dirs at" in message


def test_directories_of_two_clusters_are_refused(disk: SimulatedDisk) -> None:
    disk.make_dirs("/b")
    write_meta_properties(disk, "/b", MetaProperties(cluster_id="another", node_id=1, directory_id=IDS[3]), 0)
    assert "/b/meta.properties: cluster.id is another" in refuse(disk, "/a", "/b", cluster_id=None)


def test_another_node_is_refused(disk: SimulatedDisk) -> None:
    message = refuse(disk, "/a", node_id=2)
    assert "/a/meta.properties: node.id is 1, but this node is 2." in message
    assert "Set node.id=1" in message


def test_a_copied_directory_is_refused(disk: SimulatedDisk) -> None:
    disk.make_dirs("/copy")
    disk.open("/copy/meta.properties", create=True).append(disk.read_file("/a/meta.properties"))
    assert "/copy/meta.properties: directory.id is the same as in /a" in refuse(disk, "/a", "/copy")


def test_a_file_is_refused(disk: SimulatedDisk) -> None:
    disk.open("/file", create=True)
    assert refuse(disk, "/new", "/file") == "log.dirs: /file is a file. It must be a directory, or not exist yet."
    assert "/file/below: a part of this path is a file" in refuse(disk, "/new", "/file/below")


def test_a_path_named_twice_is_refused(disk: SimulatedDisk) -> None:
    assert "/a is named twice" in refuse(disk, "/a", "/b", "/a/")


def test_no_path_is_refused(disk: SimulatedDisk) -> None:
    assert "it is empty" in refuse(disk)


def test_an_unformatted_directory_of_an_unknown_cluster_is_refused(disk: SimulatedDisk) -> None:
    assert "/new is not formatted" in refuse(disk, "/new", cluster_id=None)


def test_a_directory_in_use_is_refused_and_the_others_are_let_go(disk: SimulatedDisk) -> None:
    released = []

    class Held(NoLock):
        def release(self) -> None:
            released.append(True)

    def lock(path: str) -> NoLock:
        if path == "/b":
            raise DirLocked("/b is in use by another process")
        return Held()

    assert "/b is in use by another process" in refuse(disk, "/a", "/new/er", "/b", lock=lock)
    assert len(released) == 2


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (errno.EACCES, "mkdir", "no permission"),
        (errno.EACCES, "create", "no permission"),
        (errno.ENOSPC, "write", "the disk is full"),
        (errno.EROFS, "create", "the file system is mounted read-only"),
    ],
)
def test_what_a_person_can_put_right_is_told(disk: SimulatedDisk, error: int, kind: str, text: str) -> None:
    disk.fail(error, kind=kind, path="/b*", times=None)
    message = refuse(disk, "/a", "/new", "/b")
    assert message.startswith(f"log.dirs: /b: {text}"), message


def test_a_directory_that_cannot_be_read_is_told(disk: SimulatedDisk) -> None:
    disk.fail(errno.EACCES, kind="read", path="/a*", times=None)
    before = len(disk.journal)
    with pytest.raises(InputError, match=r"log\.dirs: /a: no permission"):
        open_dirs(disk, "/new", "/a")
    assert len(disk.journal) == before


def test_a_broken_disk_is_offline_and_the_others_go_on(disk: SimulatedDisk) -> None:
    disk.make_dirs("/b")
    disk.fail(errno.EIO, kind="read", path="/b", times=None)
    disk.fail(errno.EIO, kind="write", path="/c/*", times=None)
    opened = open_dirs(disk, "/a", "/b", "/c")
    assert [found.path for found in opened.live] == ["/a"]
    assert list(opened.offline) == ["/b", "/c"]
    with pytest.raises(InputError, match="no log directory can be used"):
        open_dirs(disk, "/b")


def test_a_real_directory_is_locked_against_a_second_user(tmp_path: Path) -> None:
    path = str(tmp_path / "data")

    def open_it() -> OpenedDirs:
        return open_log_dirs(
            OsFileSystem(),
            [path],
            cluster_id=CLUSTER,
            node_id=1,
            new_directory_id=lambda: IDS[0],
            now_ms=0,
            lock=lock_dir,
        )

    opened = open_it()
    with pytest.raises(InputError, match="is in use by this process"):
        open_it()
    opened.release()
    open_it().release()
    assert sorted(child.name for child in (tmp_path / "data").iterdir()) == [".lock", "meta.properties"]
