"""Materialized views: computed anew at their interval, when one of their inputs has changed.

Readers find the rows of the last refresh until the next one is complete. Where the table is a directory of files on
this machine, the new rows are written beside it and the two directories are exchanged, in one step of the file system.
A table format with transactions, such as Delta, is overwritten in one transaction. Other tables are overwritten in
place, as `INSERT OVERWRITE` does.
"""

import contextlib
import ctypes
import errno
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from odradek.spark.pipeline.live.graph import Flow, Graph, Table
from odradek.spark.pipeline.live.inputs import Inputs, inputs_of
from odradek.spark.pipeline.live.names import quoted
from odradek.spark.pipeline.live.queries import settings_of
from odradek.spark.pipeline.live.tables import Catalog

#: Formats whose tables are nothing but the files of a directory.
_FILE_FORMATS = ("parquet", "orc", "json", "csv", "text", "avro")

#: Of renameat2(2).
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


@dataclass(slots=True)
class TableVersions:
    """Counts the changes of each table of the pipeline that this process has seen."""

    _versions: dict[str, int] = field(default_factory=dict)

    def changed(self, table: str) -> None:
        self._versions[table] = self._versions.get(table, 0) + 1

    def of(self, tables: frozenset[str]) -> dict[str, int]:
        return {table: self._versions.get(table, 0) for table in tables}


@dataclass(slots=True)
class _Refreshed:
    """Inputs of a view when it was last computed."""

    inputs: Inputs
    versions: Mapping[str, int]
    files: list[str]


class Outcome(Enum):
    """Result of a refresh."""

    #: The inputs are as they were: nothing was computed.
    SAME_INPUTS = auto()
    #: The rows are as they were, and so are the files that a running query reads.
    SAME_ROWS = auto()
    CHANGED = auto()


class MaterializedViews:
    def __init__(self, session: Any, graph: Graph, catalog: Catalog, versions: TableVersions) -> None:
        self._session = session
        self._graph = graph
        self._catalog = catalog
        self._versions = versions
        self._refreshed: dict[str, _Refreshed] = {}

    def refresh(self, flow: Flow, *, is_joined: bool) -> Outcome:
        """Compute the view unless its inputs are as they were. `is_joined`: a query reads it that would have to be
        started again, so that the new rows are compared with those of before."""
        table = self._graph.tables[flow.target]
        last = self._refreshed.get(flow.name)
        with settings_of(self._session, flow.settings):
            rows = flow.query()
            inputs = explain_inputs(rows, self._graph) if last is None else last.inputs
            versions = self._versions.of(inputs.tables)
            files = self._files(rows) if inputs.reads_files else []
            if last is not None and not inputs.is_opaque and (last.versions, last.files) == (versions, files):
                return Outcome.SAME_INPUTS
            has_changed = self._write(table, rows, is_joined=is_joined)
        self._refreshed[flow.name] = _Refreshed(inputs, versions, files)
        if not has_changed:
            return Outcome.SAME_ROWS
        self._versions.changed(table.name)
        return Outcome.CHANGED

    def _files(self, rows: Any) -> list[str]:
        """Return the files outside the pipeline's tables that a query reads, with when they were changed."""
        tables = tuple(f"{self._catalog.location(table)}/" for table in self._graph.tables.values())
        files = sorted(path for path in rows.inputFiles() if not path.replace("///", "/").startswith(tables))
        return [f"{path} {_changed_ns(path)}" for path in files]

    def _write(self, table: Table, rows: Any, *, is_joined: bool) -> bool:
        """Return whether a query that reads the table must be started again."""
        columns = [quoted(field.name) for field in self._session.table(quoted(table.name)).schema.fields]
        rows = rows.select(*columns)
        location, provider = self._catalog.location(table), self._catalog.provider(table)
        directory = local_directory(location)
        previous_checksum = checksum(self._session.table(quoted(table.name))) if is_joined else None
        if provider not in _FILE_FORMATS or directory is None or not directory.is_dir():
            rows.write.insertInto(quoted(table.name), overwrite=True)
            if previous_checksum is None or provider in _FILE_FORMATS:
                return True  # without versions, the files that a query reads are gone
            return checksum(self._session.table(quoted(table.name))) != previous_checksum
        beside = directory.with_name(f"_{directory.name}.next")
        writer = rows.write.format(provider).mode("overwrite")
        if table.partition_columns:
            writer = writer.partitionBy(*table.partition_columns)
        writer.save(f"file://{beside}")
        if previous_checksum is not None:
            written = self._session.read.format(provider).schema(rows.schema).load(f"file://{beside}")
            if checksum(written) == previous_checksum:
                return False
        exchange(beside, directory)
        if table.partition_columns:
            self._session.sql(f"MSCK REPAIR TABLE {quoted(table.name)} SYNC PARTITIONS")
        self._session.catalog.refreshTable(quoted(table.name))
        return True


def checksum(rows: Any) -> str:
    """Return the number of rows and the sum of their hashes, which does not depend on their order."""
    hashes = rows.selectExpr("CAST(xxhash64(to_json(struct(*))) AS DECIMAL(38, 0)) AS hash")
    (row,) = hashes.selectExpr("count(*)", "sum(hash)").collect()
    return f"{row[0]} {row[1]}"


def explain_inputs(rows: Any, graph: Graph) -> Inputs:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        rows.explain(True)
    return inputs_of(printed.getvalue(), graph.tables)


def local_directory(location: str) -> Path | None:
    """Return the path of a `file:` URI, None for any other."""
    parts = urlsplit(location)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def exchange(first: Path, second: Path) -> None:
    """Let two directories change places, so that each path always names one of them."""
    library = ctypes.CDLL(None, use_errno=True)
    result = library.renameat2(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE)
    if result == 0:
        return
    number = ctypes.get_errno()
    if number not in (errno.ENOSYS, errno.EINVAL):
        raise OSError(number, os.strerror(number), str(second))
    # A file system without it: for a moment there is no directory, but never an empty one.
    aside = second.with_name(f"_{second.name}.last")
    os.rename(second, aside)
    os.rename(first, second)
    os.rename(aside, first)


def _changed_ns(uri: str) -> int | None:
    path = local_directory(uri)
    try:
        return None if path is None else path.stat().st_mtime_ns
    except OSError:
        return None
