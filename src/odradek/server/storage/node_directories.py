"""The directories of a node as it takes them over: formatted, its own, of one cluster, and locked.

A node starts without those of `log.dirs` that have failed, as long as one is left. It cannot start without the
directory of the metadata log, nor with a directory of another node, or one that another process uses.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from odradek.common.failures import InputError
from odradek.common.file_error_advice import with_advice
from odradek.common.locks import DirLock, DirLocked, lock_dir
from odradek.common.ports import FileSystem
from odradek.server.config.server_config import ServerConfig
from odradek.server.storage.report import read_storage

logger = logging.getLogger("odradek.log")


@dataclass(frozen=True, slots=True)
class NodeDirs:
    cluster_id: str
    #: Ids of the directories that can be used, by path, the metadata log's among them.
    directory_ids: Mapping[str, bytes]
    #: Why each other directory cannot be used, by path.
    offline: Mapping[str, str]
    locks: tuple[DirLock, ...]

    def release(self) -> None:
        for lock in self.locks:
            lock.release()


def take_dirs(files: FileSystem, config: ServerConfig) -> NodeDirs:
    """Lock the directories of the node. Raises InputError naming everything that keeps the node from starting."""
    info = read_storage(files, config)
    offline = dict(info.failed)
    if info.other_problems or _is_fatal(config, offline):
        advice = [f"odradek storage format -c {config.settings.path} makes directories ready."]
        raise InputError("\n".join([*info.problems, *(advice if info.unformatted else ())]))
    metas = {one.path: one.meta for one in info.directories if one.meta is not None}
    cluster_id = next(meta.cluster_id for meta in metas.values() if meta.cluster_id is not None)
    directory_ids = {path: meta.directory_id for path, meta in metas.items() if meta.directory_id is not None}
    missing = [path for path in metas if path not in directory_ids]
    if missing:
        raise InputError(f"{missing[0]}/meta.properties: directory.id is missing; format the directory again.")
    locks = _lock_all(config, offline)
    for path, reason in offline.items():
        directory_ids.pop(path, None)
        logger.error("log directory %s has failed; the node starts without its replicas. %s", path, reason)
    return NodeDirs(cluster_id, directory_ids, offline, locks)


def _is_fatal(config: ServerConfig, offline: Mapping[str, str]) -> bool:
    return config.metadata_log_dir in offline or all(path in offline for path in config.log_dirs)


def _lock_all(config: ServerConfig, offline: dict[str, str]) -> tuple[DirLock, ...]:
    """Lock every directory that has not failed; one that cannot be locked has failed, and is added to `offline`."""
    locks: list[DirLock] = []
    try:
        for path in config.all_dirs:
            if path not in offline:
                locks += _lock(path, offline)
        if _is_fatal(config, offline):
            raise InputError("\n".join(offline.values()))
    except InputError:
        for lock in locks:
            lock.release()
        raise
    return tuple(locks)


def _lock(path: str, offline: dict[str, str]) -> list[DirLock]:
    try:
        return [lock_dir(path)]
    except DirLocked as error:
        advice = "Stop the other process, or set log.dirs to another directory."
        raise InputError(f"{error}. {advice}") from None
    except OSError as error:
        offline[path] = with_advice(path, error)
        return []
