"""Collects the dataflow graph while definitions are loaded, through PySpark's own registry of graph elements.

Definitions are the same as for updates. What live mode cannot run is listed in `Graph.unsupported`; such a pipeline
runs as updates instead.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.pipelines import flow as spark_flow
from pyspark.pipelines import output as spark_output
from pyspark.pipelines.graph_element_registry import GraphElementRegistry

from odradek.common.failures import InputError
from odradek.spark.pipeline.live.graph import Flow, Graph, Namespace, Query, Sink, Table, View
from odradek.spark.pipeline.live.sql import CreateFlow, CreateTable, CreateView, SetValue, SqlReader


class LiveRegistry(GraphElementRegistry):
    """Collects a `Graph` while definitions are loaded."""

    def __init__(self, session: Any, namespace: Namespace, sql_reader: SqlReader) -> None:
        self._session = session
        self._namespace = namespace
        self._sql_reader = sql_reader
        self.graph = Graph()

    def register_output(self, output: spark_output.Output) -> None:
        if isinstance(output, spark_output.Table):
            self._add_table(
                Table(
                    name=self._namespace.qualify(output.name),
                    is_streaming=isinstance(output, spark_output.StreamingTable),
                    format=output.format,
                    schema=output.schema,
                    partition_columns=tuple(output.partition_cols or ()),
                    cluster_columns=tuple(output.cluster_by or ()),
                    properties=dict(output.table_properties),
                    comment=output.comment,
                )
            )
        elif isinstance(output, spark_output.Sink):
            self.graph.sinks[output.name] = Sink(output.name, output.format, dict(output.options))
        # A temporary view arrives as a flow of the same name.

    def register_flow(self, flow: spark_flow.Flow) -> None:
        if flow.target in self.graph.sinks:
            self._add_flow(Flow(flow.name, flow.target, flow.func, flow.spark_conf))
        elif self._namespace.qualify(flow.target) in self.graph.tables:
            name, target = self._namespace.qualify(flow.name), self._namespace.qualify(flow.target)
            self._add_flow(Flow(name, target, flow.func, flow.spark_conf))
        elif flow.name == flow.target:
            self.graph.views[flow.name] = View(flow.name, flow.func)
        else:
            # Its table is defined in a file that is read later.
            name, target = self._namespace.qualify(flow.name), self._namespace.qualify(flow.target)
            self._add_flow(Flow(name, target, flow.func, flow.spark_conf))

    def register_auto_cdc_flow(self, flow: spark_flow.AutoCdcFlow) -> None:
        self.graph.unsupported.append(
            f"flow {flow.name or flow.target} is an AUTO CDC flow, which only Spark's own engine for updates can run"
        )

    def register_sql(self, sql_text: str, file_path: Path) -> None:
        settings: dict[str, str] = {}
        for statement in self._sql_reader.read(sql_text, str(file_path)):
            if isinstance(statement, SetValue):
                settings[statement.name] = statement.value
            elif isinstance(statement, CreateTable):
                self._add_sql_table(statement, dict(settings))
            elif isinstance(statement, CreateFlow):
                name, target = self._namespace.qualify(statement.name), self._namespace.qualify(statement.target)
                self._add_flow(Flow(name, target, self._sql_query(statement.query), dict(settings)))
            elif isinstance(statement, CreateView):
                self._add_sql_view(statement)
            else:
                self.graph.unsupported.append(statement.reason)

    def _add_sql_table(self, statement: CreateTable, settings: Mapping[str, str]) -> None:
        name = self._namespace.qualify(statement.name)
        self._add_table(
            Table(
                name=name,
                is_streaming=statement.is_streaming,
                format=statement.format,
                schema=statement.schema,
                partition_columns=statement.partition_columns,
                cluster_columns=statement.cluster_columns,
                properties=statement.properties,
                comment=statement.comment,
            )
        )
        if statement.query is not None:
            self._add_flow(Flow(name, name, self._sql_query(statement.query), settings))

    def _add_sql_view(self, statement: CreateView) -> None:
        query = self._sql_query(statement.query)
        if statement.is_temporary:
            self.graph.views[statement.name] = View(statement.name, query)
        else:
            name = self._namespace.qualify(statement.name)
            self.graph.views[name] = View(name, query, persisted_query=statement.query)

    def _add_table(self, table: Table) -> None:
        if table.name in self.graph.tables:
            raise InputError(f"table {table.name} is defined twice")
        self.graph.tables[table.name] = table

    def _add_flow(self, flow: Flow) -> None:
        if flow.name in self.graph.flows:
            raise InputError(f"flow {flow.name} is defined twice")
        self.graph.flows[flow.name] = flow

    def _sql_query(self, text: str) -> Query:
        return lambda: self._session.sql(text)
