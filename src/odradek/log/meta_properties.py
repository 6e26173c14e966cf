"""meta.properties: whose directory this is. Skeleton of signatures."""

from dataclasses import dataclass

from odradek.common.ports import FileSystem


@dataclass(frozen=True, slots=True)
class MetaProperties:
    version: int = 1
    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: bytes | None = None


def read_meta_properties(files: FileSystem, log_dir: str) -> MetaProperties | None:
    """None if the file is missing: the directory is not formatted. Raises InputError naming file, line and key."""
    raise NotImplementedError


def write_meta_properties(files: FileSystem, log_dir: str, meta: MetaProperties, now_ms: int) -> None:
    raise NotImplementedError
