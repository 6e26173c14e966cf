"""How many rows a micro-batch wrote to a table of Parquet files, which Spark does not tell.

A streaming table keeps a log of its files, `_spark_metadata/<batch>`, with a line for each; now and then
`<batch>.compact` has those of all batches before, too. The footers of the files have the rows. Only files of this
machine are looked at.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

#: How Spark describes the sink of a streaming table.
_SINK = re.compile(r"FileSink\[(?P<path>file:.+)\]")
_LOG = "_spark_metadata"


def rows_written(said: Mapping[str, Any]) -> int | None:
    """By Spark's JSON of a micro-batch; None where it cannot be told."""
    found = _SINK.fullmatch(said.get("sink", {}).get("description", ""))
    if found is None:
        return None
    table = Path(unquote(urlsplit(found["path"]).path))
    began_ms = datetime.fromisoformat(said["timestamp"]).timestamp() * 1000
    try:
        return sum(_rows(path) for path in _files(table / _LOG, said["batchId"], began_ms))
    except (OSError, ValueError, KeyError):
        return None


def _files(log: Path, batch_id: int, began_ms: float) -> Iterator[Path]:
    """Of the batch. A batch without rows leaves no entry behind, or one without lines."""
    compact = log / f"{batch_id}.compact"
    path = log / str(batch_id)
    source = compact if compact.exists() else path
    if not source.exists():
        return
    for line in source.read_text().splitlines()[1:]:  # the first is the version
        entry = json.loads(line)
        if source is path or entry["modificationTime"] >= began_ms:
            yield Path(unquote(urlsplit(entry["path"]).path))


def _rows(path: Path) -> int:
    from pyarrow.parquet import read_metadata  # type: ignore[import-untyped]

    rows: int = read_metadata(path).num_rows
    return rows
