"""Schemas in Spark's own words, for formats that have none of their own: JSON and CSV."""

import json
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import DataType, StructType

from odradek.common.failures import InputError
from odradek.spark.ddl import ddl_problem

Schema = StructType | str


def chosen_schema(schema: Schema | None, schema_file: str | Path | None) -> Schema:
    """The one that was given, or what is in the file: DDL, or Spark's JSON of a schema."""
    if (schema is None) == (schema_file is None):
        raise InputError("one of schema and schema_file is needed, such as schema='id BIGINT NOT NULL, name STRING'")
    if schema is not None:
        return _parsed_early(schema)
    text = read_text(Path(str(schema_file)), "DDL, such as id BIGINT NOT NULL, name STRING")
    if not text.lstrip().startswith("{"):
        return _parsed_early(text.strip())
    try:
        return StructType.fromJson(json.loads(text))
    except (ValueError, KeyError, TypeError, PySparkException) as error:
        raise InputError(f"{schema_file} is no schema in Spark's JSON: {error}") from None


def _parsed_early(schema: Schema) -> Schema:
    """Where there is a session: the functions of a pipeline, in which a format is used, must ask Spark nothing."""
    try:
        SparkSession.active()
    except PySparkException:
        return schema
    return struct_type(schema)


def struct_type(schema: Schema) -> StructType:
    """Parsed by Spark, so that a session must be active for text."""
    if isinstance(schema, StructType):
        return schema
    try:
        return _struct(DataType.fromDDL(schema), schema)
    except PySparkException as error:
        said = ddl_problem(schema) or next((line for line in str(error).splitlines() if line.strip()), "")
        raise InputError(f"{schema!r} is no schema, such as id BIGINT NOT NULL, name STRING: {said}") from None


def read_text(path: Path, wanted: str) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}; right is a file with {wanted}") from None


def _struct(found: DataType, where: str) -> StructType:
    if not isinstance(found, StructType):
        raise InputError(f"{where} is a schema of {found.simpleString()}, and a struct is needed")
    return found
