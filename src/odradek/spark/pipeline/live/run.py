"""Live mode in the driver's session: from the definitions of the project to an engine that runs."""

import threading
from collections.abc import Callable
from typing import Any

from odradek.spark.pipeline.live.checked import CheckedDefinitions
from odradek.spark.pipeline.live.engine import LiveEngine, NeedsUpdate, Notice, Report, Stop
from odradek.spark.pipeline.live.graph import Graph, Namespace, check_targets
from odradek.spark.pipeline.live.queries import Queries
from odradek.spark.pipeline.live.restarts import Restarts
from odradek.spark.pipeline.live.sql import SqlReader
from odradek.spark.pipeline.live.tables import Catalog
from odradek.spark.pipeline.live.triggers import Triggers
from odradek.spark.pipeline.project import Project


class Unsupported(Exception):
    """The pipeline has something in it that only updates can run."""


class LiveRun:
    def __init__(
        self,
        session: Any,
        java: Any,
        project: Project,
        triggers: Triggers,
        restarts: Restarts,
        checked: CheckedDefinitions,
        *,
        is_remote: bool,
    ) -> None:
        """`java` is py4j's view of a JVM with Spark's classes; `is_remote`: the session is that of a Spark Connect
        server, perhaps on another machine."""
        self._session = session
        self._java = java
        self._project = project
        self._triggers = triggers
        self._restarts = restarts
        self._checked = checked
        self._is_remote = is_remote
        self._stopping = threading.Event()
        self._engine: LiveEngine | None = None

    def run(self, settings: dict[str, str], report: Report, update: Callable[[], None]) -> None:
        """Return when it was stopped. `settings` are those of the session; `update` runs one of Spark's own engine,
        which creates and changes tables as their definitions say. Raises Unsupported, FlowFailed, and what Spark says
        of a definition."""
        sql_reader = SqlReader(self._java)
        graph = collect_graph(self._session, self._project, settings, sql_reader)
        if graph.unsupported:
            raise Unsupported("; ".join(graph.unsupported))
        catalog = Catalog(self._session, sql_reader)
        queries = Queries(self._session, self._project, graph, is_remote=self._is_remote)
        while not self._stopping.is_set():
            self._engine = LiveEngine(
                self._session, graph, catalog, queries, self._triggers, self._restarts, self._checked, report
            )
            if self._stopping.is_set():  # it was stopped before there was an engine to hear it
                return
            try:
                self._engine.run()
                return
            except NeedsUpdate:
                update()

    def notify(self, notice: Notice) -> None:
        """Accept a notice from any thread."""
        if isinstance(notice, Stop):
            self._stopping.set()
        if self._engine is not None:
            self._engine.notify(notice)


def collect_graph(session: Any, project: Project, settings: dict[str, str], sql_reader: SqlReader) -> Graph:
    """Load the definitions of a project. Raises InputError, and what a definition raises."""
    from pyspark.pipelines.cli import load_pipeline_spec, register_definitions
    from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph

    from odradek.spark.pipeline.live.registry import LiveRegistry

    namespace = Namespace(project.catalog_name, project.database_name)
    if project.catalog is not None:
        session.catalog.setCurrentCatalog(project.catalog)
    if project.database is not None:
        session.sql(f"CREATE DATABASE IF NOT EXISTS `{project.database}`")
        session.catalog.setCurrentDatabase(project.database)
    registry = LiveRegistry(session, namespace, sql_reader)
    # Definitions are loaded in the context of a graph, which is what allows and forbids them the same as in updates.
    graph_id = create_dataflow_graph(session, project.catalog, project.database, settings)
    register_definitions(project.spec_path, registry, load_pipeline_spec(project.spec_path), session, graph_id)
    check_targets(registry.graph)
    return registry.graph
