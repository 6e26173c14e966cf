"""Rows that a micro-batch wrote to a table, which Spark does not report.

A streaming table of Parquet files keeps a log of them, `_spark_metadata/<batch>`, with a line for each; now and then
`<batch>.compact` has those of all batches before, too. The footers of the files have the rows. A table of Delta keeps a
log of its changes, `_delta_log/<number>.json`; that of a micro-batch has its query, its id and its rows. Only files of
this machine are looked at.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

#: How Spark and Delta describe the sink of a streaming table.
_SINK = re.compile(r"(?P<kind>File|Delta)Sink\[(?P<path>file:.+)\]")
_LOG, _DELTA_LOG = "_spark_metadata", "_delta_log"

#: How many of the newest are looked at: the batch was written a moment ago.
_CHANGES_MAX = 20


def rows_written(progress: Mapping[str, Any]) -> int | None:
    """Return the rows by Spark's JSON of a micro-batch; None where they are not known."""
    directory = _SINK.fullmatch(progress.get("sink", {}).get("description", ""))
    if directory is None:
        return None
    table = Path(unquote(urlsplit(directory["path"]).path))
    try:
        return _rows_of_delta(table, progress) if directory["kind"] == "Delta" else _rows_of_files(table, progress)
    except (OSError, ValueError, KeyError):
        return None


def _rows_of_delta(table: Path, progress: Mapping[str, Any]) -> int | None:
    changes = sorted((path for path in (table / _DELTA_LOG).glob("*.json") if path.stem.isdecimal()), reverse=True)
    for path in islice(changes, _CHANGES_MAX):
        for line in path.read_text().splitlines():
            change = json.loads(line).get("commitInfo", {})
            batch = change.get("operationParameters", {})
            if (batch.get("queryId"), batch.get("epochId")) == (progress["id"], str(progress["batchId"])):
                return int(change["operationMetrics"]["numOutputRows"])
    return None


def _rows_of_files(table: Path, progress: Mapping[str, Any]) -> int:
    began_ms = datetime.fromisoformat(progress["timestamp"]).timestamp() * 1000
    return sum(_rows(path) for path in _files(table / _LOG, progress["batchId"], began_ms))


def _files(log: Path, batch_id: int, began_ms: float) -> Iterator[Path]:
    """Return the files of the batch. A batch without rows leaves no entry behind, or one without lines."""
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
