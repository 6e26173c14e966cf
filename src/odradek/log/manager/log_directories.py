"""Taking possession of log directories: whose they are, and that nobody else is using them.

First everything is looked at, then everything is changed. A directory of another cluster or node, a file where a
directory should be, a path named twice, a directory without permission: the person who wrote `log.dirs` is told which
and what would be right, and nothing on any disk is touched. Only when all of them pass are missing directories made,
locked and marked with a `meta.properties`; should that fail half-way (no permission to write, disk full), what was made
is taken away again.

A disk that answers with an error of its own is another matter: its directory is offline from the start, and the node
goes on with the others, if there are any.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from odradek.common.failures import InputError
from odradek.common.file_error_advice import advice, with_advice
from odradek.common.locks import DirLocked
from odradek.common.ports import FileSystem
from odradek.log.file_names import META_PROPERTIES
from odradek.log.manager.meta_properties import MetaProperties, read_meta_properties, write_meta_properties


class Lock(Protocol):
    @property
    def created(self) -> bool: ...
    @property
    def path(self) -> str: ...
    def release(self) -> None: ...


@dataclass(frozen=True, slots=True)
class LogDir:
    """A directory that is ours. Its id, and not its path, is how the cluster knows it."""

    path: str
    directory_id: bytes
    lock: Lock


@dataclass(frozen=True, slots=True)
class OpenedDirs:
    """`offline` has the reason for every directory that could not be used."""

    cluster_id: str
    node_id: int
    live: tuple[LogDir, ...]
    offline: dict[str, str]

    def release(self) -> None:
        for directory in self.live:
            directory.lock.release()


@dataclass(frozen=True, slots=True)
class _Found:
    """What looking found: `meta` is None for a directory that is new to us."""

    path: str
    exists: bool
    meta: MetaProperties | None


def open_log_dirs(
    files: FileSystem,
    paths: Sequence[str],
    *,
    cluster_id: str | None,
    node_id: int,
    new_directory_id: Callable[[], bytes],
    now_ms: int,
    lock: Callable[[str], Lock],
) -> OpenedDirs:
    """`cluster_id` None: the one that the directories agree on. `lock` is `locks.lock_dir`, or a stand-in."""
    offline: dict[str, str] = {}
    found = [seen for path in _distinct(paths) if (seen := _look(files, path, offline)) is not None]
    if not found:
        reasons = "; ".join(f"{path}: {reason}" for path, reason in offline.items())
        raise InputError(f"log.dirs: no log directory can be used. {reasons}")
    cluster_id = _agree(found, cluster_id, node_id)
    wanted = MetaProperties(cluster_id=cluster_id, node_id=node_id)
    live: list[LogDir] = []
    undo: list[Callable[[], None]] = []
    try:
        for seen in found:
            before = len(undo)
            try:
                live.append(_take(files, seen, wanted, new_directory_id, now_ms, lock, undo))
            except OSError as error:
                offline[seen.path] = _reason(seen.path, error)
                _take_back(undo, before)
    except InputError:
        _take_back(undo, 0)
        raise
    if not live:
        raise InputError(f"log.dirs: no log directory can be used. {'; '.join(offline.values())}")
    return OpenedDirs(cluster_id, node_id, tuple(live), offline)


def _distinct(paths: Sequence[str]) -> list[str]:
    if not paths:
        raise InputError("log.dirs: it is empty. Name at least one directory.")
    normal = [posixpath.normpath(path) for path in paths]
    for path in normal:
        if normal.count(path) > 1:
            raise InputError(f"log.dirs: {path} is named twice. Each log directory must be another one.")
    return normal


def _look(files: FileSystem, path: str, offline: dict[str, str]) -> _Found | None:
    """Reads only. None if the disk itself fails."""
    try:
        if not files.exists(path):
            return _Found(path, False, None)
        if not files.is_dir(path):
            raise InputError(f"log.dirs: {path} is a file. It must be a directory, or not exist yet.")
        files.list_dir(path)
        return _Found(path, True, read_meta_properties(files, path))
    except OSError as error:
        offline[path] = _reason(path, error)
        return None


def _reason(path: str, error: OSError) -> str:
    """Raises `InputError` for what a person can put right."""
    if advice(error) is not None:
        raise InputError(f"log.dirs: {with_advice(path, error)}") from error
    return str(error.strerror or error)


def _agree(found: Sequence[_Found], cluster_id: str | None, node_id: int) -> str:
    """The cluster that all directories belong to."""
    ids: dict[bytes, str] = {}
    for seen in found:
        meta, where = seen.meta, f"{seen.path}/{META_PROPERTIES}"
        if meta is None:
            continue
        if cluster_id is None:
            cluster_id = meta.cluster_id
        if meta.cluster_id is not None and meta.cluster_id != cluster_id:
            raise InputError(
                f"{where}: cluster.id is {meta.cluster_id}, but this node belongs to cluster {cluster_id}.\n"
                f"  Point log.dirs at a directory of this cluster, or at a new one."
            )
        if meta.node_id is not None and meta.node_id != node_id:
            raise InputError(
                f"{where}: node.id is {meta.node_id}, but this node is {node_id}.\n"
                f"  Set node.id={meta.node_id}, or point log.dirs at a directory of node {node_id}."
            )
        if meta.directory_id is not None and meta.directory_id in ids:
            raise InputError(
                f"{where}: directory.id is the same as in {ids[meta.directory_id]}.\n"
                f"  One of the two is a copy; each log directory must have an id of its own."
            )
        if meta.directory_id is not None:
            ids[meta.directory_id] = where
    if cluster_id is None:
        raise InputError(
            f"log.dirs: {found[0].path} is not formatted, so the cluster is unknown.\n"
            "  Format the log directories with a cluster id first."
        )
    return cluster_id


def _take(
    files: FileSystem,
    seen: _Found,
    wanted: MetaProperties,
    new_directory_id: Callable[[], bytes],
    now_ms: int,
    lock: Callable[[str], Lock],
    undo: list[Callable[[], None]],
) -> LogDir:
    """Make the directory if need be, lock it, mark it. `undo` learns how to take each of these back."""
    if not seen.exists:
        missing = _missing_ancestor(files, seen.path)
        undo.append(lambda: files.remove_tree(missing) if files.exists(missing) else None)
        files.make_dirs(seen.path)
        files.sync_dir(posixpath.dirname(missing) or "/")
    try:
        held = lock(seen.path)
    except DirLocked as error:
        raise InputError(f"log.dirs: {error}. Each log directory belongs to one running node.") from error
    undo.append(lambda: _give_back(files, held))
    meta = seen.meta or wanted
    if meta.directory_id is None:
        meta = replace(meta, directory_id=new_directory_id())
        undo.append(lambda: _remove_if_there(files, f"{seen.path}/{META_PROPERTIES}.tmp"))
        if seen.meta is None:
            undo.append(lambda: _remove_if_there(files, f"{seen.path}/{META_PROPERTIES}"))
        write_meta_properties(files, seen.path, meta, now_ms)
    assert meta.directory_id is not None
    return LogDir(seen.path, meta.directory_id, held)


def _take_back(undo: list[Callable[[], None]], first: int) -> None:
    """As far as a failing disk lets us; what cannot be taken back must not hide why it had to be."""
    for step in reversed(undo[first:]):
        with suppress(OSError):
            step()
    del undo[first:]


def _missing_ancestor(files: FileSystem, path: str) -> str:
    """The topmost directory that `make_dirs` would make."""
    while (parent := posixpath.dirname(path)) and parent != path and not files.exists(parent):
        path = parent
    return path


def _give_back(files: FileSystem, held: Lock) -> None:
    held.release()
    if held.created:
        _remove_if_there(files, held.path)


def _remove_if_there(files: FileSystem, path: str) -> None:
    if files.exists(path):
        files.remove(path)
