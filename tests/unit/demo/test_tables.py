"""Tables as Spark's file sink leaves them: only what a manifest names is part of them."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from demo.tables import read_stream_table


def commit(table: Path, number: int, *names: str, compact: bool = False) -> None:
    manifest = table / "_spark_metadata" / f"{number}{'.compact' if compact else ''}"
    manifest.parent.mkdir(exist_ok=True)
    lines = [json.dumps({"path": f"{table.as_uri()}/{name}", "action": "add"}) for name in names]
    manifest.write_text("\n".join(["v1", *lines]))


def write(table: Path, name: str, *ids: str) -> None:
    pq.write_table(pa.table({"id": list(ids), "n": [1] * len(ids)}), table / name)


def test_only_committed_files_count_and_each_once(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path, f"part-{number}.parquet", f"a{number}", f"b{number}")
    write(tmp_path, "part-of-a-dead-driver.parquet", "a2", "b2")
    commit(tmp_path, 0, "part-0.parquet")
    commit(tmp_path, 1)  # a batch without rows
    commit(tmp_path, 2, "part-0.parquet", "part-1.parquet", compact=True)
    commit(tmp_path, 3, "part-2.parquet")
    (tmp_path / "_spark_metadata" / ".3.crc").write_bytes(b"")
    batches = read_stream_table(tmp_path, ["id"])
    assert [batch.rows["id"].to_pylist() for batch in batches] == [["a0", "b0"], ["a1", "b1"], ["a2", "b2"]]


def test_a_table_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    assert read_stream_table(tmp_path, ["id"]) == []
