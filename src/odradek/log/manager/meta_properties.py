"""meta.properties: whose directory this is.

Version 1 (KRaft) always has `node.id` and `cluster.id`; version 0 (ZooKeeper's time, and directories migrated from it)
may have `broker.id` and `cluster.id`. `directory.id` came later to both.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from odradek.common.failures import InputError
from odradek.common.ids import uuid_from_text, uuid_to_text
from odradek.common.ports import FileSystem, write_atomically
from odradek.common.properties import Properties, format_properties, read_properties
from odradek.log.file_names import META_PROPERTIES

_NUMBER = re.compile(r"[+-]?[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class MetaProperties:
    version: int = 1
    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: bytes | None = None


def read_meta_properties(files: FileSystem, log_dir: str) -> MetaProperties | None:
    """Read the file; None if it is missing: the directory is not formatted.

    Raises OSError if the file cannot be read, and InputError naming file, line and key if it is malformed.
    """
    path = f"{log_dir}/{META_PROPERTIES}"
    try:
        properties = read_properties(files, path)
    except FileNotFoundError:
        return None
    version = _whole_number(properties, "version", strip=True) or 0
    if version not in (0, 1):
        raise properties.error("version", f"{version} is unknown; it is 0 or 1")
    meta = MetaProperties(
        version,
        properties.get("cluster.id"),
        _whole_number(properties, "broker.id" if version == 0 else "node.id"),
        _directory_id(properties),
    )
    for key, value in (("cluster.id", meta.cluster_id), ("node.id", meta.node_id)):
        if version == 1 and value is None:
            raise InputError(f"{path}: {key} is missing; version 1 of the file always has it")
    return meta


def write_meta_properties(files: FileSystem, log_dir: str, meta: MetaProperties, now_ms: int) -> None:
    write_atomically(files, f"{log_dir}/{META_PROPERTIES}", encode_meta_properties(meta, now_ms))


def encode_meta_properties(meta: MetaProperties, now_ms: int) -> bytes:
    """In the order and with the two comment lines that Kafka writes."""
    written = datetime.fromtimestamp(now_ms // 1000, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")
    values: dict[str, str] = {}
    if meta.node_id is not None:
        values["node.id" if meta.version else "broker.id"] = str(meta.node_id)
    if meta.directory_id is not None:
        values["directory.id"] = uuid_to_text(meta.directory_id)
    values["version"] = str(meta.version)
    if meta.cluster_id is not None:
        values["cluster.id"] = meta.cluster_id
    return format_properties(values, comments=("", written)).encode()


def _whole_number(properties: Properties, key: str, *, strip: bool = False) -> int | None:
    text = properties.get(key)
    if text is None:
        return None
    text = text.strip() if strip else text
    if not _NUMBER.fullmatch(text):
        raise properties.error(key, f'"{text}" is not a whole number')
    return int(text)


def _directory_id(properties: Properties) -> bytes | None:
    text = properties.get("directory.id")
    if text is None:
        return None
    try:
        return uuid_from_text(text)
    except ValueError as error:
        raise properties.error("directory.id", str(error)) from None
