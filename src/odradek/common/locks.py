"""One process at a time in a directory.

A data directory belongs to whoever holds a lock on its `.lock` file. The lock is a POSIX record lock, the kind that
Java takes, so that an Apache Kafka broker and ours keep each other out. Such a lock belongs to the process: a second
holder inside the same process would be let in by the kernel, so this module remembers what it holds itself. It ends
with the process, however that ends; the file stays.
"""

import errno
import fcntl
import os

LOCK_FILE_NAME = ".lock"

_HELD_ELSEWHERE = (errno.EACCES, errno.EAGAIN)

#: Device and inode of every lock file that this process holds.
_held: dict[tuple[int, int], str] = {}


class DirLocked(Exception):
    """Somebody else is using the directory."""


class DirLock:
    """A held lock. `created` says that the lock file was not there before."""

    __slots__ = ("_fd", "_identity", "created", "path")

    def __init__(self, path: str, fd: int, identity: tuple[int, int], created: bool) -> None:
        self.path = path
        self.created = created
        self._fd = fd
        self._identity = identity

    def release(self) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            del _held[self._identity]
            os.close(fd)


def lock_dir(directory: str) -> DirLock:
    """Raises `DirLocked` if the directory is in use, `OSError` if the lock file cannot be opened."""
    path = f"{directory}/{LOCK_FILE_NAME}"
    created = not os.path.exists(path)
    # Closing any descriptor of a file drops all of a process's locks on it, so look before opening.
    if not created and _identity(os.stat(path)) in _held:
        raise DirLocked(f"{directory} is in use by this process")
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        if error.errno in _HELD_ELSEWHERE:
            raise DirLocked(f"{directory} is in use by another process") from None
        raise
    identity = _identity(os.fstat(fd))
    _held[identity] = path
    return DirLock(path, fd, identity, created)


def _identity(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_dev, stat.st_ino
