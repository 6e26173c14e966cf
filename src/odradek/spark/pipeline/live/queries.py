"""The streaming query of a flow: its checkpoint, its settings, its start."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from odradek.spark.pipeline.checkpoints import ROOT
from odradek.spark.pipeline.live.graph import Flow, Graph
from odradek.spark.pipeline.live.names import checkpoint_directory, quoted
from odradek.spark.pipeline.project import Project

#: Messages of Spark Connect that name what a query reads, and the field with the name or the SQL.
_NAMING = {"NamedTable": "unparsed_identifier", "SQL": "query", "SqlCommand": "query"}


class Queries:
    def __init__(self, session: Any, project: Project, graph: Graph, *, is_remote: bool) -> None:
        """`is_remote`: Spark may be on another machine, whose directories this process does not see."""
        self._session = session
        self._graph = graph
        self._storage = project.storage.rstrip("/")
        self._local_storage = None if is_remote else project.local_storage

    def named_by(self, frame: Any) -> list[str]:
        """Return the names of tables and the texts of SQL in the plan of a DataFrame, as the client sends it."""
        return list(_named_in(frame._plan.to_proto(self._session.client)))

    def start(self, flow: Flow, frame: Any, interval_ms: int) -> Any:
        """Start the query of a streaming flow, from the checkpoint of its last run if there is one."""
        table = self._graph.tables.get(flow.target)
        with settings_of(self._session, flow.settings):
            writer = (
                frame.writeStream.queryName(flow.name)
                .option("checkpointLocation", self._checkpoint(flow))
                .trigger(processingTime=f"{interval_ms} milliseconds")
                .outputMode("append")
            )
            if table is None:
                sink = self._graph.sinks[flow.target]
                return writer.format(sink.format).options(**sink.options).start()
            if table.format is not None:
                writer = writer.format(table.format)
            if table.partition_columns:
                writer = writer.partitionBy(*table.partition_columns)
            return writer.toTable(quoted(table.name))

    def _checkpoint(self, flow: Flow) -> str:
        """Return the newest checkpoint of the flow: a full refresh begins another."""
        directory = f"{ROOT}/{checkpoint_directory(flow.target, flow.name)}"
        root = f"{self._storage}/{directory}"
        if self._local_storage is not None:
            names = _local_names(self._local_storage / directory)
            newest = max((int(name) for name in names if name.isdecimal()), default=0)
        else:
            newest = next(number for number in count() if not self._exists(f"{root}/{number + 1}"))
        return f"{root}/{newest}"

    def _exists(self, path: str) -> bool:
        """Ask Spark, which knows the file system of the storage: its jars, its settings, its credentials."""
        from pyspark.errors import AnalysisException

        try:
            self._session.read.format("text").load(path).schema  # noqa: B018 - analysis looks for the path
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            return False
        return True


@contextmanager
def settings_of(session: Any, settings: Mapping[str, str]) -> Iterator[None]:
    """Set what a flow asks for while its query starts: the query keeps it. No two flows may start at the same time."""
    previous = {name: session.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in previous.items():
            if value is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, value)


def _named_in(message: Any) -> Iterator[str]:
    """Search a message of Spark Connect at any depth."""
    text_field = _NAMING.get(message.DESCRIPTOR.name)
    for field, value in message.ListFields():
        if field.name == text_field:
            yield value
        elif hasattr(value, "ListFields"):
            yield from _named_in(value)
        elif not isinstance(value, str | bytes) and hasattr(value, "__len__"):
            for inner in value.values() if hasattr(value, "values") else value:
                if hasattr(inner, "ListFields"):
                    yield from _named_in(inner)


def _local_names(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()] if directory.is_dir() else []
