"""Kafka's small text files: offset checkpoints, leader-epoch checkpoint, partition.metadata, clean-shutdown marker.

A checkpoint is a version line, a line with the number of entries, and one entry a line. It is replaced as a whole
(`write_atomically`): after a crash it is the old one or the new one. A missing or empty file is an empty checkpoint,
as for Kafka, which creates it empty; anything malformed raises `CorruptCheckpoint` with the line.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from odradek.common.ids import ZERO_UUID, TopicPartition, uuid_from_text, uuid_to_text
from odradek.common.ports import FileSystem, write_atomically
from odradek.log.errors import CorruptCheckpoint
from odradek.log.file_names import CLEAN_SHUTDOWN, LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA

CHECKPOINT_VERSION = 0

_T = TypeVar("_T")
_NUMBER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_SPACES = re.compile(r"[ \t\x0b\f]+")
_LINE_END = re.compile(r"\r\n|\n|\r")
_INT_BITS = 31
_LONG_BITS = 63


class EpochEntry(NamedTuple):
    """A leader epoch and the offset of the first batch written under it."""

    epoch: int
    start_offset: int


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """The topic's id, so that a directory of a deleted and recreated topic is told apart."""

    topic_id: bytes
    version: int = 0


@dataclass(frozen=True, slots=True)
class CleanShutdown:
    """That the node stopped cleanly, and (since 4.0) under which broker epoch."""

    broker_epoch: int | None


def read_offset_checkpoint(files: FileSystem, path: str) -> dict[TopicPartition, int]:
    return dict(_read_checkpoint(files, path, _offset_entry))


def write_offset_checkpoint(files: FileSystem, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    lines = [f"{tp.topic} {tp.partition} {offset}" for tp, offset in offsets.items()]
    _write_checkpoint(files, path, lines)


def read_epoch_checkpoint(files: FileSystem, directory: str) -> list[EpochEntry]:
    """The leader epochs of the partition in `directory`."""
    return _read_checkpoint(files, f"{directory}/{LEADER_EPOCH_CHECKPOINT}", _epoch_entry)


def write_epoch_checkpoint(
    files: FileSystem, directory: str, entries: Iterable[EpochEntry], *, sync: bool = True
) -> None:
    lines = [f"{epoch} {start_offset}" for epoch, start_offset in entries]
    _write_checkpoint(files, f"{directory}/{LEADER_EPOCH_CHECKPOINT}", lines, sync=sync)


def read_partition_metadata(files: FileSystem, directory: str) -> PartitionMetadata | None:
    """None if the file is missing: Kafka writes it with the first append."""
    path = f"{directory}/{PARTITION_METADATA}"
    if not files.exists(path):
        return None
    lines = _lines(files, path)
    version = _parse_integer(_field(path, lines, 1, "version"), _INT_BITS)
    if version is None or version < 0:
        raise CorruptCheckpoint(path, 1, f'"{lines[0]}" should be "version: 0"')
    try:
        topic_id = uuid_from_text(_field(path, lines, 2, "topic_id"))
    except ValueError as error:
        raise CorruptCheckpoint(path, 2, str(error)) from None
    if topic_id == ZERO_UUID:
        raise CorruptCheckpoint(path, 2, "the zero uuid is no topic's")
    return PartitionMetadata(topic_id, version)


def write_partition_metadata(files: FileSystem, directory: str, topic_id: bytes) -> None:
    write_atomically(files, f"{directory}/{PARTITION_METADATA}", _partition_metadata(topic_id))


def write_new_partition_metadata(files: FileSystem, directory: str, topic_id: bytes) -> None:
    """Into a new directory, and not synced: see `is_partition_metadata_torn`."""
    file = files.open(f"{directory}/{PARTITION_METADATA}", create=True)
    try:
        file.append(_partition_metadata(topic_id))
    finally:
        file.close()


def is_partition_metadata_torn(files: FileSystem, directory: str) -> bool:
    """It is written with the directory and synced with the first flush: a crash before may leave a part of it."""
    path = f"{directory}/{PARTITION_METADATA}"
    return files.exists(path) and files.size(path) < _PARTITION_METADATA_BYTES


def _partition_metadata(topic_id: bytes) -> bytes:
    return f"version: 0\ntopic_id: {uuid_to_text(topic_id)}".encode()


#: Of the whole file; ids are of one length.
_PARTITION_METADATA_BYTES = len(_partition_metadata(ZERO_UUID))


def read_clean_shutdown(files: FileSystem, log_dir: str) -> CleanShutdown | None:
    """None if the last stop was not clean. Only the file's presence counts for that: what it says may be unreadable
    (older Kafka left it empty), and then the broker epoch is unknown."""
    path = f"{log_dir}/{CLEAN_SHUTDOWN}"
    if not files.exists(path):
        return None
    try:
        content = json.loads(files.read_file(path))
    except ValueError:
        return CleanShutdown(None)
    epoch = content.get("brokerEpoch") if isinstance(content, dict) else None
    return CleanShutdown(epoch if type(epoch) is int else None)


def write_clean_shutdown(files: FileSystem, log_dir: str, broker_epoch: int) -> None:
    content = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    write_atomically(files, f"{log_dir}/{CLEAN_SHUTDOWN}", content.encode())


def delete_clean_shutdown(files: FileSystem, log_dir: str) -> None:
    """At start, once it was read: from here on a stop is unclean until the marker is written again."""
    path = f"{log_dir}/{CLEAN_SHUTDOWN}"
    if files.exists(path):
        files.remove(path)
        files.sync_dir(log_dir)


def _offset_entry(line: str) -> tuple[TopicPartition, int] | None:
    parts = _SPACES.split(line)
    if len(parts) != 3:
        return None
    partition, offset = _parse_integer(parts[1], _INT_BITS), _parse_integer(parts[2], _LONG_BITS)
    if partition is None or offset is None:
        return None
    return TopicPartition(parts[0], partition), offset


def _epoch_entry(line: str) -> EpochEntry | None:
    parts = _SPACES.split(line)
    if len(parts) != 2:
        return None
    epoch, start_offset = _parse_integer(parts[0], _INT_BITS), _parse_integer(parts[1], _LONG_BITS)
    if epoch is None or start_offset is None or epoch < 0 or start_offset < 0:
        return None
    return EpochEntry(epoch, start_offset)


def _read_checkpoint(files: FileSystem, path: str, parse: Callable[[str], _T | None]) -> list[_T]:
    if not files.exists(path):
        return []
    lines = _lines(files, path)
    if not lines:
        return []
    if _parse_integer(lines[0], _INT_BITS) != CHECKPOINT_VERSION:
        raise CorruptCheckpoint(path, 1, f'version "{lines[0]}" is not {CHECKPOINT_VERSION}')
    if len(lines) == 1:
        return []
    count = _parse_integer(lines[1], _INT_BITS)
    if count is None:
        raise CorruptCheckpoint(path, 2, f'"{lines[1]}" is no number of entries')
    entries = []
    for line_number, line in enumerate(lines[2:], start=3):
        entry = parse(line)
        if entry is None:
            raise CorruptCheckpoint(path, line_number, f'"{line}" is no entry of this checkpoint')
        entries.append(entry)
    if len(entries) != count:
        raise CorruptCheckpoint(path, 2, f"{count} entries expected, {len(entries)} found")
    return entries


def _write_checkpoint(files: FileSystem, path: str, lines: Sequence[str], *, sync: bool = True) -> None:
    text = "\n".join((str(CHECKPOINT_VERSION), str(len(lines)), *lines, ""))
    write_atomically(files, path, text.encode(), sync=sync)


def _lines(files: FileSystem, path: str) -> list[str]:
    try:
        text = files.read_file(path).decode()
    except UnicodeDecodeError as error:
        raise CorruptCheckpoint(path, None, f"byte {error.start} is no UTF-8 text") from None
    lines = _LINE_END.split(text)
    return lines[:-1] if lines[-1] == "" else lines


def _field(path: str, lines: Sequence[str], line_number: int, name: str) -> str:
    """Return the value of a line; Kafka goes by the position of the line, not by its name."""
    parts = re.split(r":\s+", lines[line_number - 1]) if len(lines) >= line_number else []
    if len(parts) != 2:
        raise CorruptCheckpoint(path, line_number, f'"{name}: ..." expected')
    return parts[1]


#: More than any 64-bit number has, with its sign.
_MAX_DIGITS = 20


def _parse_integer(text: str, bits: int) -> int | None:
    """Parse an integer as Java does: no spaces, no underscores, within its width."""
    if not _NUMBER.fullmatch(text):
        return None
    if len(text) > _MAX_DIGITS:
        return None
    value = int(text)
    return value if -(1 << bits) <= value < 1 << bits else None
