"""Schemas as Spark types, for formats without a schema language of their own: JSON and CSV."""

import json
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import DataType, StructType

from odradek.common.failures import InputError
from odradek.spark.ddl import ddl_problem

Schema = StructType | str


def load_schema(schema: Schema | None, schema_file: str | Path | None) -> Schema:
    """Return `schema`, or the content of the file: DDL, or a schema in Spark's JSON."""
    if (schema is None) == (schema_file is None):
        raise InputError(
            "exactly one of schema and schema_file is required, such as schema='id BIGINT NOT NULL, name STRING'"
        )
    if schema is not None:
        return _parsed_in_session(schema)
    text = read_text(Path(str(schema_file)), "DDL, such as id BIGINT NOT NULL, name STRING")
    if not text.lstrip().startswith("{"):
        return _parsed_in_session(text.strip())
    try:
        return StructType.fromJson(json.loads(text))
    except (ValueError, KeyError, TypeError, PySparkException) as error:
        raise InputError(f"{schema_file} is not a schema in Spark's JSON: {error}") from None


def _parsed_in_session(schema: Schema) -> Schema:
    """Parse the schema if there is a session.

    Functions of a pipeline, which use the format later, must not call Spark."""
    try:
        SparkSession.active()
    except PySparkException:
        return schema
    return struct_type(schema)


def struct_type(schema: Schema) -> StructType:
    """Return the schema as a struct. Spark parses text, so that a session must be active for it."""
    if isinstance(schema, StructType):
        return schema
    try:
        return _struct(DataType.fromDDL(schema), schema)
    except PySparkException as error:
        problem = ddl_problem(schema) or next((line for line in str(error).splitlines() if line.strip()), "")
        raise InputError(
            f"{schema!r} is not a valid schema: {problem}. Expected for example id BIGINT NOT NULL, name STRING"
        ) from None


def read_text(path: Path, description: str) -> str:
    """Return the content of a file; `description` is the expected content, for the error message."""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}; expected a file with {description}") from None


def _struct(data_type: DataType, text: str) -> StructType:
    if not isinstance(data_type, StructType):
        raise InputError(f"{text} is a schema of {data_type.simpleString()}; expected a struct")
    return data_type
