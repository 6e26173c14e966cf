"""The dataflow graph of a pipeline, as live mode runs it. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from odradek.common.failures import InputError

#: Returns the DataFrame that a flow writes.
Query = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Namespace:
    """The catalog and the database of names without a qualifier."""

    catalog: str
    database: str

    def qualify(self, name: str) -> str:
        """Return `catalog.database.name` for a name with one, two or three parts."""
        parts = name.split(".")
        defaults = (self.catalog, self.database)
        return ".".join((*defaults[: 3 - len(parts)], *parts))


@dataclass(frozen=True, slots=True)
class Table:
    #: Qualified.
    name: str
    is_streaming: bool
    format: str | None
    #: A StructType, DDL, or None for the schema of its flows.
    schema: Any
    partition_columns: tuple[str, ...]
    cluster_columns: tuple[str, ...]
    properties: Mapping[str, str]
    comment: str | None


@dataclass(frozen=True, slots=True)
class Sink:
    name: str
    format: str
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class View:
    """Other flows read it by its name. A temporary one is only known to the session of the pipeline."""

    name: str
    query: Query
    #: The text of the query of a view that the catalog keeps.
    persisted_query: str | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    #: Qualified, unless the flow writes to a sink; the name of its streaming query.
    name: str
    #: The name of a table or a sink.
    target: str
    query: Query
    #: Settings of Spark for this flow alone.
    settings: Mapping[str, str]


@dataclass(slots=True)
class Graph:
    tables: dict[str, Table] = field(default_factory=dict)
    sinks: dict[str, Sink] = field(default_factory=dict)
    views: dict[str, View] = field(default_factory=dict)
    flows: dict[str, Flow] = field(default_factory=dict)
    #: What live mode cannot run, one sentence each.
    unsupported: list[str] = field(default_factory=list)

    @property
    def streaming_flows(self) -> list[Flow]:
        return [flow for flow in self.flows.values() if self.is_streaming(flow)]

    @property
    def materialized_views(self) -> list[Flow]:
        return [flow for flow in self.flows.values() if not self.is_streaming(flow)]

    def is_streaming(self, flow: Flow) -> bool:
        table = self.tables.get(flow.target)
        return table is None or table.is_streaming


def check_targets(graph: Graph) -> None:
    """Raise InputError for a flow that writes to a table that is not defined."""
    for flow in graph.flows.values():
        if flow.target not in graph.tables and flow.target not in graph.sinks:
            raise InputError(f"flow {flow.name} writes to {flow.target}, which is neither a table nor a sink")
