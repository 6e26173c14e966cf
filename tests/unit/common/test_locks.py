"""A directory belongs to one process, and to one holder in it."""

import subprocess
import sys
from pathlib import Path

import pytest

from odradek.common.locks import DirLocked, lock_dir

#: Takes the lock, says so, and holds it until it is told to go.
HOLDER = """
import sys
from odradek.common.locks import DirLocked, lock_dir
try:
    lock_dir(sys.argv[1])
except DirLocked as error:
    print(error)
else:
    print("held")
sys.stdout.flush()
sys.stdin.read()
"""


def other_process(directory: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def first_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def end(process: "subprocess.Popen[str]") -> None:
    process.communicate()


def test_a_second_holder_in_the_same_process_is_refused(tmp_path: Path) -> None:
    lock = lock_dir(str(tmp_path))
    assert lock.created
    with pytest.raises(DirLocked, match="in use by this process"):
        lock_dir(str(tmp_path))
    lock.release()
    lock.release()
    again = lock_dir(str(tmp_path))
    assert not again.created
    again.release()


def test_another_process_keeps_us_out_until_it_ends(tmp_path: Path) -> None:
    holder = other_process(tmp_path)
    try:
        assert first_line(holder) == "held"
        with pytest.raises(DirLocked, match="in use by another process"):
            lock_dir(str(tmp_path))
    finally:
        end(holder)
    lock_dir(str(tmp_path)).release()


def test_we_keep_another_process_out_even_after_a_refused_attempt(tmp_path: Path) -> None:
    """Closing any descriptor of a locked file drops the lock: a refused second attempt must not open one."""
    lock = lock_dir(str(tmp_path))
    with pytest.raises(DirLocked):
        lock_dir(str(tmp_path))
    other = other_process(tmp_path)
    try:
        assert "in use by another process" in first_line(other)
    finally:
        end(other)
        lock.release()
