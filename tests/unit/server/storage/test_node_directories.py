"""Directories that a node takes over, those it starts without, and those that keep it from starting."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.cli.app import run
from odradek.common.failures import InputError
from odradek.common.files import OsFileSystem
from odradek.common.locks import DirLock, lock_dir
from odradek.server.config.server_config import ServerConfig, load_server_config
from odradek.server.storage import node_directories
from odradek.server.storage.node_directories import take_dirs
from support.processes.storage import CLUSTER_ID, write_config

NO_PERMISSION = "no permission. The user that runs the node must be able to read and write it."


@pytest.fixture
def config(tmp_path: Path) -> ServerConfig:
    path = write_config(tmp_path, tmp_path)
    assert run(["storage", "format", "-t", CLUSTER_ID, "-c", str(path)]) == 0
    return load_server_config(OsFileSystem(), str(path), ())


class Unreadable(OsFileSystem):
    def list_dir(self, path: str) -> list[str]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


def test_a_directory_that_cannot_be_read_is_not_taken_for_an_empty_one(config: ServerConfig) -> None:
    with pytest.raises(InputError) as refused:
        take_dirs(Unreadable(), config)
    assert str(refused.value) == "\n".join(f"{path}: {NO_PERMISSION}" for path in config.all_dirs)


def lock_failing_for(path: str, number: int) -> Callable[[str], DirLock]:
    def lock(directory: str) -> DirLock:
        if directory == path:
            raise OSError(number, os.strerror(number), f"{path}/.lock")
        return lock_dir(directory)

    return lock


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.EACCES, NO_PERMISSION),
        (errno.EROFS, "the file system is mounted read-only. A log directory must be writable."),
        (errno.EIO, "Input/output error"),
    ],
)
def test_a_node_starts_without_a_directory_that_cannot_be_written_to(
    number: int, reason: str, config: ServerConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = config.all_dirs
    monkeypatch.setattr(node_directories, "lock_dir", lock_failing_for(second, number))
    dirs = take_dirs(OsFileSystem(), config)
    assert dirs.offline == {second: f"{second}: {reason}"}
    assert list(dirs.directory_ids) == [first]
    dirs.release()
    lock_dir(first).release()


def test_a_metadata_log_directory_that_cannot_be_written_to_is_fatal(
    config: ServerConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directories that were locked before are free again."""
    first, second = config.all_dirs
    monkeypatch.setattr(node_directories, "lock_dir", lock_failing_for(config.metadata_log_dir, errno.EIO))
    with pytest.raises(InputError) as refused:
        take_dirs(OsFileSystem(), config)
    assert str(refused.value) == f"{config.metadata_log_dir}: Input/output error"
    lock_dir(first if config.metadata_log_dir == second else second).release()


def replace_by_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("a file")


def damage_meta_properties(path: Path) -> None:
    (path / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=one\n")


def make_meta_properties_unreadable(path: Path) -> None:
    (path / "meta.properties").unlink()
    (path / "meta.properties").mkdir()


FAILURES = [
    (replace_by_file, "{path}: is not a directory."),
    (damage_meta_properties, '{path}/meta.properties:3: node.id: "one" is not a whole number'),
    (make_meta_properties_unreadable, "{path}/meta.properties: Is a directory"),
]


@pytest.mark.parametrize(("fail", "reason"), FAILURES)
def test_a_node_starts_without_a_directory_that_has_failed(
    fail: Callable[[Path], None], reason: str, config: ServerConfig
) -> None:
    first, second = config.all_dirs
    assert first == config.metadata_log_dir
    fail(Path(second))
    dirs = take_dirs(OsFileSystem(), config)
    assert dirs.offline == {second: reason.format(path=second)}
    assert list(dirs.directory_ids) == [first]
    dirs.release()


@pytest.mark.parametrize(("fail", "reason"), FAILURES)
def test_a_metadata_log_directory_that_has_failed_is_fatal(
    fail: Callable[[Path], None], reason: str, config: ServerConfig
) -> None:
    fail(Path(config.metadata_log_dir))
    with pytest.raises(InputError) as refused:
        take_dirs(OsFileSystem(), config)
    assert str(refused.value) == reason.format(path=config.metadata_log_dir)


def test_a_path_below_a_file_has_failed(tmp_path: Path) -> None:
    path = write_config(tmp_path, tmp_path)
    assert run(["storage", "format", "-t", CLUSTER_ID, "-c", str(path)]) == 0
    file = tmp_path / "file"
    file.write_text("")
    below = tmp_path / "file" / "two"
    path.write_text(path.read_text().replace(str(tmp_path / "two"), str(below)))
    dirs = take_dirs(OsFileSystem(), load_server_config(OsFileSystem(), str(path), ()))
    assert dirs.offline == {str(below): f"{below}: a part of it is a file, so it is not a directory."}
    dirs.release()


@pytest.mark.parametrize("name", ["missing", "not formatted"])
def test_a_directory_that_is_missing_or_not_formatted_is_refused(name: str, config: ServerConfig) -> None:
    """Its disk may not be mounted."""
    second = Path(config.all_dirs[1])
    shutil.rmtree(second)
    if name == "not formatted":
        second.mkdir()
    with pytest.raises(InputError, match="does not exist" if name == "missing" else "is not formatted"):
        take_dirs(OsFileSystem(), config)
