"""The checkpoint that a query starts from: the newest one, wherever the storage is."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import AnalysisException

from odradek.spark.pipeline.live.graph import Flow, Graph, Sink
from odradek.spark.pipeline.live.queries import Queries
from odradek.spark.pipeline.project import Project, read_project

FLOW = Flow("copied", "copies", lambda: None, {})


class Stream:
    """A streaming DataFrame and its writer: returns the checkpoint in place of a query."""

    @property
    def writeStream(self) -> "Stream":
        return self

    def option(self, name: str, value: str) -> "Stream":
        self.checkpoint = value
        return self

    def start(self) -> str:
        return self.checkpoint

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: self


class Session:
    """Of a Spark that sees other directories than this process."""

    def __init__(self, *paths: str) -> None:
        self._paths = paths

    @property
    def read(self) -> "Session":
        return self

    schema = None

    def format(self, name: str) -> "Session":
        return self

    def load(self, path: str) -> "Session":
        if path not in self._paths:
            raise AnalysisException(f"{path} is not there", errorClass="PATH_NOT_FOUND", messageParameters={})
        return self


def project_with(directory: Path, storage: str) -> Project:
    (directory / "spark-pipeline.yml").write_text(f"name: shop\nstorage: {storage}\n")
    return read_project(str(directory))


def started(session: object, project: Project, *, is_remote: bool) -> str:
    graph = Graph(sinks={"copies": Sink("copies", "odradek", {})})
    return str(Queries(session, project, graph, is_remote=is_remote).start(FLOW, Stream(), 0))


def test_a_directory_of_this_machine(tmp_path: Path) -> None:
    project = project_with(tmp_path, "storage")
    root = f"{project.storage}/_checkpoints/copies/copied"
    assert started(None, project, is_remote=False) == f"{root}/0"
    (tmp_path / "storage" / "_checkpoints" / "copies" / "copied" / "10").mkdir(parents=True)
    assert started(None, project, is_remote=False) == f"{root}/10"


@pytest.mark.parametrize(("storage", "is_remote"), [("hdfs://shared/shop", False), ("/elsewhere/shop", True)])
def test_where_only_spark_sees_it(tmp_path: Path, storage: str, is_remote: bool) -> None:
    project = project_with(tmp_path, storage)
    root = f"{project.storage}/_checkpoints/copies/copied"
    for count in range(3):
        session = Session(*(f"{root}/{number}" for number in range(count)))
        assert started(session, project, is_remote=is_remote) == f"{root}/{max(count - 1, 0)}"
