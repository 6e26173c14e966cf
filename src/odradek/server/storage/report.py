"""What the directories of a node say about themselves, and what is wrong with them.

A directory that cannot be read, or whose `meta.properties` is damaged, has failed: a node can do without it. A
directory that is missing or not formatted has not failed. It may be new, or its disk may not be mounted yet, and a node
does not start without it, as Apache Kafka does not: its replicas would be missed without anybody having been told.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from odradek.common.failures import InputError
from odradek.common.file_error_advice import with_advice
from odradek.common.ids import uuid_to_text
from odradek.common.ports import FileSystem
from odradek.log.manager.meta_properties import MetaProperties, read_meta_properties
from odradek.metadata_log.bootstrap_checkpoint import feature_levels, read_bootstrap
from odradek.server.config.endpoints import repeated
from odradek.server.config.server_config import ServerConfig


@dataclass(frozen=True, slots=True)
class DirectoryInfo:
    path: str
    meta: MetaProperties | None
    #: That formatting asked for, by name; empty if nobody knows.
    features: dict[str, int]


@dataclass(frozen=True, slots=True)
class StorageInfo:
    directories: Sequence[DirectoryInfo]
    problems: Sequence[str]
    #: Paths that formatting would make ready.
    unformatted: Sequence[str]
    #: The reason for each directory that has failed, by path; the problems have them too.
    failed: Mapping[str, str]

    @property
    def other_problems(self) -> list[str]:
        """Problems that are not the failure of a directory."""
        return [problem for problem in self.problems if problem not in self.failed.values()]


def read_storage(files: FileSystem, config: ServerConfig) -> StorageInfo:
    directories: list[DirectoryInfo] = []
    problems: list[str] = []
    unformatted: list[str] = []
    failed: dict[str, str] = {}
    for path in config.all_dirs:
        try:
            info = _read_directory(files, path)
        except FileNotFoundError:
            unformatted.append(path)
            problems.append(f"{path} does not exist.")
            continue
        except InputError as error:
            failed[path] = str(error)
            problems.append(failed[path])
            continue
        directories.append(info)
        if info.meta is None:
            unformatted.append(path)
            problems.append(f"{path} is not formatted.")
    problems += _disagreements(config, [info for info in directories if info.meta is not None])
    return StorageInfo(directories, problems, unformatted, failed)


def _read_directory(files: FileSystem, path: str) -> DirectoryInfo:
    """Raises FileNotFoundError if there is no such directory, and InputError if it has failed."""
    try:
        # A directory that cannot be listed is not an unformatted one, though no file in it can be seen.
        files.list_dir(path)
    except FileNotFoundError:
        raise
    except NotADirectoryError:
        part = "" if files.exists(path) else "a part of it is a file, so it "
        raise InputError(f"{path}: {part}is not a directory.") from None
    except OSError as error:
        raise InputError(with_advice(path, error)) from None
    try:
        meta = read_meta_properties(files, path)
        records = read_bootstrap(files, path) or []
    except OSError as error:
        raise InputError(with_advice(error.filename or path, error)) from None
    return DirectoryInfo(path, meta, feature_levels(records))


def _disagreements(config: ServerConfig, formatted: Sequence[DirectoryInfo]) -> list[str]:
    problems: list[str] = []
    metas = {info.path: info.meta for info in formatted if info.meta is not None}
    clusters = list(dict.fromkeys(meta.cluster_id for meta in metas.values() if meta.cluster_id is not None))
    if len(clusters) > 1:
        problems.append(f"The directories belong to different clusters: {', '.join(clusters)}.")
    for path, meta in metas.items():
        if meta.version == 0:
            problems.append(f"{path} was formatted for a cluster with ZooKeeper, and process.roles says KRaft.")
        if meta.node_id is not None and meta.node_id != config.node_id:
            problems.append(f"{path} belongs to the node {meta.node_id}, and node.id is {config.node_id}.")
    for directory_id in repeated(meta.directory_id for meta in metas.values() if meta.directory_id is not None):
        problems.append(f"Two directories have the same directory.id, {uuid_to_text(directory_id)}.")
    return problems
