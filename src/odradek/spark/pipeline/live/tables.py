"""Tables of a pipeline in the catalog: those that are missing are created, with what their definitions say.

A table whose schema its definition has changed is left to Spark's own engine for updates, which merges schemas.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from odradek.spark.pipeline.live.graph import Table
from odradek.spark.pipeline.live.names import quoted
from odradek.spark.pipeline.live.sql import SqlReader


class Catalog:
    def __init__(self, session: Any, sql_reader: SqlReader) -> None:
        self._session = session
        self._sql_reader = sql_reader
        self._descriptions: dict[str, dict[str, str]] = {}

    def missing(self, tables: Iterable[Table]) -> list[Table]:
        """Return the tables that do not exist; Spark is asked once for each database."""
        names: dict[str, set[str]] = {}
        missing = []
        for table in tables:
            database, _, name = table.name.rpartition(".")
            if database not in names:
                rows = self._session.sql(f"SHOW TABLES IN {quoted(database)}").collect()
                names[database] = {str(row.tableName).lower() for row in rows if not row.isTemporary}
            if name.lower() not in names[database]:
                missing.append(table)
        return missing

    def create(self, table: Table, schema: Any) -> None:
        """`schema` is the one of the flows, for a table whose definition has none."""
        self._session.sql(create_statement(table, self._columns(table, schema)))

    def has_columns(self, table: Table, schema: Any) -> bool:
        """Return whether the table has all columns of a schema, with their types."""
        existing = _types(self._session.table(quoted(table.name)).schema)
        return all(existing.get(name) == kind for name, kind in _types(schema).items())

    def location(self, table: Table) -> str:
        """Return the URI of the table's directory."""
        return self._described(table)["Location"]

    def provider(self, table: Table) -> str:
        """Return the format of the table, in lower case."""
        return self._described(table)["Provider"].lower()

    def _described(self, table: Table) -> dict[str, str]:
        """Ask Spark once: neither the location nor the format of a table changes while the pipeline runs."""
        if table.name not in self._descriptions:
            rows = self._session.sql(f"DESCRIBE TABLE EXTENDED {quoted(table.name)}").collect()
            description = {
                str(row.col_name): str(row.data_type) for row in rows if row.col_name in ("Location", "Provider")
            }
            self._descriptions[table.name] = description
        return self._descriptions[table.name]

    def _columns(self, table: Table, schema: Any) -> str:
        if isinstance(table.schema, str):
            return table.schema
        return self._sql_reader.ddl(schema if table.schema is None else table.schema)


def create_statement(table: Table, columns: str) -> str:
    parts = [f"CREATE TABLE {quoted(table.name)} ({columns})"]
    if table.format is not None:
        parts.append(f"USING {table.format}")
    if table.partition_columns:
        parts.append(f"PARTITIONED BY ({', '.join(map(quoted, table.partition_columns))})")
    if table.cluster_columns:
        parts.append(f"CLUSTER BY ({', '.join(map(quoted, table.cluster_columns))})")
    if table.comment is not None:
        parts.append(f"COMMENT {_literal(table.comment)}")
    if table.properties:
        pairs = (f"{_literal(name)} = {_literal(value)}" for name, value in table.properties.items())
        parts.append(f"TBLPROPERTIES ({', '.join(pairs)})")
    return " ".join(parts)


def _types(schema: Any) -> Mapping[str, str]:
    """Return the type of each column, without what does not make tables incompatible: letter case, nullability."""
    return {field.name.lower(): field.dataType.simpleString().lower() for field in schema.fields}


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
