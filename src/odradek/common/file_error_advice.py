"""Advice for the user about errors of the file system."""

import errno

_NO_PERMISSION = "no permission. The user that runs the node must be able to read and write it."

_ADVICE = {
    errno.EACCES: _NO_PERMISSION,
    errno.EPERM: _NO_PERMISSION,
    errno.EROFS: "the file system is mounted read-only. A log directory must be writable.",
    errno.ENOSPC: "the disk is full. Free some space, or choose a directory on another disk.",
    errno.EDQUOT: "the disk quota is used up. Free some space, or choose a directory on another disk.",
    errno.ENOTDIR: "a part of this path is a file. It must be a directory, or not exist yet.",
    errno.EEXIST: "a part of this path is a file. It must be a directory, or not exist yet.",
    errno.ENAMETOOLONG: "the path is longer than the file system allows. Choose a shorter one.",
}


def advice(error: OSError) -> str | None:
    """None for an error of the disk itself, about which a person can do nothing here."""
    return _ADVICE.get(error.errno or 0)


def with_advice(path: str, error: OSError) -> str:
    return f"{path}: {advice(error) or error.strerror or error}"
