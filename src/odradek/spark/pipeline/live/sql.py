"""SQL definitions of a pipeline, read by Spark's own parser.

The parser is reached through the JVM of the driver, or through one that is started for it when the session is that of a
Spark Connect server: `SparkSqlParser` needs no session.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from odradek.common.failures import InputError

_PLANS = {
    "SetCommand": "_set",
    "CreateStreamingTableAsSelect": "_create_table",
    "CreateMaterializedViewAsSelect": "_create_table",
    "CreateStreamingTable": "_create_table",
    "CreateView": "_create_persisted_view",
    "CreateViewCommand": "_create_view",
    "CreateFlowCommand": "_create_flow",
}


@dataclass(frozen=True, slots=True)
class SetValue:
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class CreateTable:
    name: str
    is_streaming: bool
    #: The text after AS; None where flows of their own write to the table.
    query: str | None
    format: str | None = None
    #: DDL; None for the schema of the query.
    schema: str | None = None
    partition_columns: tuple[str, ...] = ()
    cluster_columns: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class CreateView:
    name: str
    query: str
    is_temporary: bool = True


@dataclass(frozen=True, slots=True)
class CreateFlow:
    name: str
    target: str
    query: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    reason: str


Statement = SetValue | CreateTable | CreateView | CreateFlow | Unsupported


class SqlReader:
    def __init__(self, jvm: Any) -> None:
        """`jvm` is py4j's view of a JVM with Spark's classes."""
        self._jvm = jvm
        self._parser = jvm.org.apache.spark.sql.execution.SparkSqlParser()

    def read(self, text: str, file_name: str) -> Iterator[Statement]:
        """Raise InputError for what Spark cannot parse."""
        for statement in self._split(text):
            plan = self._parse(statement, file_name)
            name = str(plan.getClass().getSimpleName())
            reader = _PLANS.get(name)
            if reader is None:
                yield Unsupported(f"{file_name}: live mode cannot run {_first_words(statement)}")
            else:
                yield getattr(self, reader)(plan, statement)

    def ddl(self, schema: Any) -> str:
        """Return the columns of a schema as DDL, all of them nullable, as Spark's own engine creates tables."""
        parsed = getattr(self._jvm.org.apache.spark.sql.types, "DataType$")
        return str(getattr(parsed, "MODULE$").fromJson(schema.json()).asNullable().toDDL())

    def _split(self, text: str) -> list[str]:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]

        utils = getattr(getattr(self._jvm.org.apache.spark.sql.catalyst.util, "StringUtils$"), "MODULE$")
        try:
            statements = utils.splitSemiColon(text, False)
        except Py4JError:  # its name before Spark 4.3
            statements = utils.splitSemiColonWithIndex(text, False)
        return [str(statement) for statement in _sequence(statements)]

    def _parse(self, statement: str, file_name: str) -> Any:
        from py4j.protocol import Py4JJavaError

        try:
            return self._parser.parsePlan(statement)
        except Py4JJavaError as error:
            raise InputError(f"{file_name}: {error.java_exception.getMessage()}") from None

    def _set(self, plan: Any, statement: str) -> Statement:
        pair = plan.kv()
        if pair.isEmpty() or pair.get()._2().isEmpty():
            return Unsupported(f"SET needs a name and a value: {_first_words(statement)}")
        return SetValue(str(pair.get()._1()), str(pair.get()._2().get()))

    def _create_table(self, plan: Any, statement: str) -> Statement:
        kind = str(plan.getClass().getSimpleName())
        spec = plan.tableSpec()
        columns = plan.columns()
        partitions, clusters = _transforms(plan.partitioning())
        return CreateTable(
            name=_identifier(plan.name()),
            is_streaming=kind != "CreateMaterializedViewAsSelect",
            query=None if kind == "CreateStreamingTable" else str(plan.originalText()),
            format=_option(spec.provider()),
            schema=self._columns(columns) if columns.nonEmpty() else None,
            partition_columns=partitions,
            cluster_columns=clusters,
            properties=_pairs(spec.properties()),
            comment=_option(spec.comment()),
        )

    def _columns(self, columns: Any) -> str:
        ddl = [str(column.toV1Column().toDDL()) for column in _sequence(columns)]
        return ", ".join(ddl)

    def _create_view(self, plan: Any, statement: str) -> Statement:
        return CreateView(str(plan.name().unquotedString()), str(plan.originalText().get()))

    def _create_persisted_view(self, plan: Any, statement: str) -> Statement:
        return CreateView(_identifier(plan.child()), str(plan.originalText().get()), is_temporary=False)

    def _create_flow(self, plan: Any, statement: str) -> Statement:
        operation = plan.flowOperation()
        if str(operation.getClass().getSimpleName()) != "InsertIntoStatement":
            return Unsupported(f"live mode cannot run {_first_words(statement)}")
        origin = operation.query().origin()
        query = statement[origin.startIndex().get() : origin.stopIndex().get() + 1]
        target = ".".join(str(part) for part in _sequence(operation.table().multipartIdentifier()))
        return CreateFlow(_identifier(plan.name()), target, query)


def _identifier(plan: Any) -> str:
    return ".".join(str(part) for part in _sequence(plan.nameParts()))


def _sequence(scala: Any) -> list[Any]:
    return [scala.apply(index) for index in range(scala.size())]


def _option(scala: Any) -> str | None:
    return None if scala.isEmpty() else str(scala.get())


def _pairs(scala: Any) -> dict[str, str]:
    return {str(pair._1()): str(pair._2()) for pair in _sequence(scala.toList())}


def _transforms(scala: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the partition columns and the cluster columns."""
    partitions: list[str] = []
    clusters: list[str] = []
    for transform in _sequence(scala):
        columns = [str(column) for reference in transform.references() for column in reference.fieldNames()]
        (clusters if transform.name() == "cluster_by" else partitions).extend(columns)
    return tuple(partitions), tuple(clusters)


def _first_words(statement: str) -> str:
    terms = [word for line in statement.splitlines() if not line.lstrip().startswith("--") for word in line.split()]
    return " ".join(terms[:6]) + (" …" if len(terms) > 6 else "")
