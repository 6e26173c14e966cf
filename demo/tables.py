"""The pipeline's tables, read by pyarrow.

Spark writes the files of a micro-batch first and then, in one step, their names into the next file of the table's
`_spark_metadata`; a file that is in none of these was written by a driver that died, and is not part of the table.
The time of that step is when the rows became visible.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

_MANIFEST = "_spark_metadata"
_COMPACT = ".compact"


@dataclass(frozen=True, slots=True)
class Batch:
    """What one micro-batch added."""

    visible_ms: int
    rows: pa.Table


def read_stream_table(directory: Path, columns: list[str]) -> list[Batch]:
    """In the order in which they were committed."""
    return [
        Batch(visible_ms, pa.concat_tables([pq.read_table(file, columns=columns) for file in files]))
        for visible_ms, files in _commits(directory)
        if files
    ]


def read_view(directory: Path) -> pa.Table:
    """A materialized view: as it was computed last."""
    files = sorted(directory.glob("*.parquet"))
    return pa.concat_tables([pq.ParquetFile(file).read() for file in files])


def _commits(directory: Path) -> Iterator[tuple[int, list[Path]]]:
    """A compact file repeats all that was committed before it."""
    seen: set[Path] = set()
    for manifest in sorted(_manifests(directory / _MANIFEST), key=_number):
        named = [_path(json.loads(line)["path"]) for line in manifest.read_text().splitlines()[1:]]
        files = [file for file in named if file not in seen]
        seen.update(files)
        yield manifest.stat().st_mtime_ns // 1_000_000, files


def _manifests(directory: Path) -> list[Path]:
    if not directory.is_dir():
        return []
    return [file for file in directory.iterdir() if file.name.removesuffix(_COMPACT).isdecimal()]


def _number(manifest: Path) -> int:
    return int(manifest.name.removesuffix(_COMPACT))


def _path(uri: str) -> Path:
    return Path(unquote(urlparse(uri).path))
