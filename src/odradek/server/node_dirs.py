"""The directories of a node as it takes them over: formatted, its own, of one cluster, and locked.

Any of `log.dirs` may have failed and be done without, as long as one is left; the metadata log's directory may not.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from odradek.common.failures import InputError
from odradek.common.locks import DirLock, DirLocked, lock_dir
from odradek.common.ports import FileSystem
from odradek.common.remedies import explained
from odradek.server.config import ServerConfig
from odradek.server.storage_info import read_storage


@dataclass(frozen=True, slots=True)
class NodeDirs:
    cluster_id: str
    #: By path, the metadata log's among them.
    directory_ids: Mapping[str, bytes]
    locks: tuple[DirLock, ...]

    def release(self) -> None:
        for lock in self.locks:
            lock.release()


def take_dirs(files: FileSystem, config: ServerConfig) -> NodeDirs:
    """Raises InputError saying what is wrong with them, all of it."""
    info = read_storage(files, config)
    if info.problems:
        advice = [f"odradek storage format -c {config.settings.path} makes directories ready."]
        raise InputError("\n".join([*info.problems, *(advice if info.unformatted else ())]))
    metas = {one.path: one.meta for one in info.directories if one.meta is not None}
    cluster_id = next(meta.cluster_id for meta in metas.values() if meta.cluster_id is not None)
    directory_ids = {path: meta.directory_id for path, meta in metas.items() if meta.directory_id is not None}
    missing = [path for path in metas if path not in directory_ids]
    if missing:
        raise InputError(f"{missing[0]}/meta.properties: directory.id is missing; format the directory again.")
    return NodeDirs(cluster_id, directory_ids, _lock_all(config.all_dirs))


def _lock_all(paths: tuple[str, ...]) -> tuple[DirLock, ...]:
    locks: list[DirLock] = []
    try:
        for path in paths:
            locks.append(_lock(path))
    except InputError:
        for lock in locks:
            lock.release()
        raise
    return tuple(locks)


def _lock(path: str) -> DirLock:
    try:
        return lock_dir(path)
    except DirLocked as error:
        advice = "Stop the other process, or set log.dirs to another directory."
        raise InputError(f"{error}. {advice}") from None
    except OSError as error:
        raise InputError(explained(path, error)) from None
