"""Rows of a micro-batch, from the log of a table's files and from their footers, or from the log of Delta."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from odradek.spark.pipeline.table_rows import rows_written

BEGAN = "2026-01-31T12:00:00.000Z"
BEGAN_MS = 1_769_860_800_000


class Table:
    def __init__(self, directory: Path) -> None:
        self.path = directory / "a table"
        (self.path / "_spark_metadata").mkdir(parents=True)
        self._files = 0

    def file(self, rows: int, modified_ms: int = BEGAN_MS + 5) -> dict[str, Any]:
        self._files += 1
        path = self.path / f"part {self._files}.parquet"
        pq.write_table(pa.table({"a": range(rows)}), path)
        return {"path": path.as_uri(), "size": 5, "modificationTime": modified_ms, "action": "add"}

    def log(self, name: str, *entries: dict[str, Any]) -> None:
        (self.path / "_spark_metadata" / name).write_text("\n".join(["v1", *map(json.dumps, entries)]))

    def rows(self, batch_id: int) -> int | None:
        sink = {"description": f"FileSink[file:{self.path}]".replace(" ", "%20"), "numOutputRows": -1}
        return rows_written({"sink": sink, "batchId": batch_id, "timestamp": BEGAN})


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


def test_a_batch(table: Table) -> None:
    table.log("0", table.file(5), table.file(7))
    table.log("1", table.file(2))
    assert (table.rows(0), table.rows(1)) == (12, 2)


def test_a_batch_without_rows(table: Table) -> None:
    table.log("0")
    assert (table.rows(0), table.rows(1)) == (0, 0)


def test_a_batch_whose_log_has_those_before(table: Table) -> None:
    table.log("9.compact", table.file(5, BEGAN_MS - 1), table.file(7), table.file(1, BEGAN_MS))
    assert table.rows(9) == 8


def test_what_cannot_be_told(table: Table) -> None:
    table.log("0", {"path": "file:/nowhere", "modificationTime": 1})
    assert table.rows(0) is None
    (table.path / "_spark_metadata" / "1").write_text("v1\nhalf a li")
    assert table.rows(1) is None
    assert rows_written({"sink": {"description": "ForeachBatchSink"}, "batchId": 1, "timestamp": BEGAN}) is None
    assert rows_written({"batchId": 1}) is None


def change(directory: Path, number: int, query: str, batch_id: int, rows: int) -> None:
    """As Delta 4.4.0 writes it, but for what is of no interest."""
    said = {
        "operation": "STREAMING UPDATE",
        "operationParameters": {"outputMode": "Append", "queryId": query, "epochId": str(batch_id)},
        "operationMetrics": {"numAddedFiles": "1", "numOutputRows": str(rows)},
    }
    lines = ({"commitInfo": said}, {"txn": {"appId": query, "version": batch_id}})
    (directory / f"{number:020}.json").write_text("\n".join(map(json.dumps, lines)))


def test_delta(tmp_path: Path) -> None:
    log = tmp_path / "a table" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text(json.dumps({"commitInfo": {"operation": "CREATE TABLE"}}))
    (log / f"{2:020}.checkpoint.parquet").touch()
    change(log, 1, "ours", 0, 5)
    change(log, 2, "ours", 1, 7)
    change(log, 3, "of another", 1, 9)

    def rows(batch_id: int) -> int | None:
        sink = {"description": f"DeltaSink[{log.parent.as_uri()}]", "numOutputRows": -1}
        return rows_written({"sink": sink, "id": "ours", "batchId": batch_id})

    assert (rows(0), rows(1), rows(2)) == (5, 7, None)
    (log / f"{4:020}.json").write_text("half a li")
    assert rows(1) is None
