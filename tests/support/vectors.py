"""Kafka's own data in `tests/vectors/`: what Apache Kafka 4.3.1 wrote, unpacked where a test wants it."""

import gzip
import json
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parents[1] / "vectors"

#: Name of the archive's own top directory, by the state the node was in.
CLEAN = "clean"
UNCLEAN = "unclean"
_TOP = {CLEAN: "data", UNCLEAN: "unclean"}


@dataclass(frozen=True, slots=True)
class ExpectedRecord:
    """A record as a client of Apache Kafka read it. `timestamp_type` is 1 for create time, 2 for append time."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    leader_epoch: int
    committed: bool


def unpack(state: str, target: Path) -> Path:
    """The data directory of the node, `CLEAN` or `UNCLEAN`, as a fresh copy below `target`.

    A running Kafka preallocates its index files, 10 MiB each, nearly all zeros: those tails become holes.
    """
    with tarfile.open(DIRECTORY / f"disk.{state}.tar.xz") as archive:
        for member in archive:
            path = target / member.name
            if member.isdir():
                path.mkdir(parents=True, exist_ok=True)
            elif (content := archive.extractfile(member)) is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("wb") as file:
                    file.write(content.read().rstrip(b"\0"))
                    file.truncate(member.size)
                os.utime(path, (member.mtime, member.mtime))
    return target / _TOP[state]


def wire_messages() -> Iterator[dict[str, Any]]:
    """`message`, `version`, `hex` and `json` of each message."""
    yield from _lines("wire.jsonl.gz")


def expected_lines() -> list[dict[str, Any]]:
    """The lines of `disk.expected.jsonl.gz` as they are."""
    return list(_lines("disk.expected.jsonl.gz"))


def expected_records() -> list[ExpectedRecord]:
    return [
        ExpectedRecord(
            topic=line["topic"],
            partition=line["partition"],
            offset=line["offset"],
            timestamp=line["timestamp"],
            timestamp_type=line["timestamp_type"],
            key=_bytes(line["key"]),
            value=_bytes(line["value"]),
            headers=tuple((name, _bytes(value)) for name, value in line["headers"]),
            leader_epoch=line["leader_epoch"],
            committed=line["committed"],
        )
        for line in expected_lines()
    ]


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def _lines(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(DIRECTORY / name, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
