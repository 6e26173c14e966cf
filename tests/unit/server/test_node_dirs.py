"""Directories that a node may not use: said with what to do."""

import errno
import os
from pathlib import Path

import pytest

from helpers.storage import CLUSTER_ID, write_config
from odradek.cli.app import run
from odradek.common.failures import InputError
from odradek.common.files import OsFileSystem
from odradek.common.locks import DirLock, lock_dir
from odradek.server import node_dirs
from odradek.server.config import ServerConfig, load_server_config
from odradek.server.node_dirs import take_dirs

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


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EACCES, NO_PERMISSION),
        (errno.EROFS, "the file system is mounted read-only. A log directory must be writable."),
        (errno.EIO, "Input/output error"),
    ],
)
def test_a_directory_that_cannot_be_written_to(
    number: int, said: str, config: ServerConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were locked before it are free again."""
    first, second = config.all_dirs

    def lock(path: str) -> DirLock:
        if path == second:
            raise OSError(number, os.strerror(number), f"{path}/.lock")
        return lock_dir(path)

    monkeypatch.setattr(node_dirs, "lock_dir", lock)
    with pytest.raises(InputError) as refused:
        take_dirs(OsFileSystem(), config)
    assert str(refused.value) == f"{second}: {said}"
    lock_dir(first).release()
