"""Schemas that definitions name, as text or as files: whether they are there and can be read."""

from pathlib import Path

from odradek.common.failures import InputError
from odradek.spark.ddl import ddl_problem
from odradek.spark.pipeline.uses import SchemaUse


def schema_problem(use: SchemaUse, directory: Path) -> str | None:
    """Return what is wrong with a schema; None if nothing is. Paths are those of the project's directory."""
    if "schema" in use.arguments:
        return ddl_problem(use.arguments["schema"])
    name = use.arguments.get("schema_file") or use.arguments.get("descriptor_file") or ""
    path = directory / name
    if not path.is_file():
        return f"there is no file {name}"
    try:
        problem = _file_problem(use, path)
    except InputError as error:
        problem = str(error)
    return None if problem is None else f"{name}: {problem}"


def _file_problem(use: SchemaUse, path: Path) -> str | None:
    """Raises InputError, or says what is wrong."""
    from odradek.spark import formats

    if use.format == "avro":
        formats.avro(schema_file=path)
    elif use.format == "protobuf":
        formats.protobuf(descriptor_file=path, message=use.arguments.get("message", ""))
    else:
        schema = formats.json(schema_file=path).source_schema
        return ddl_problem(schema) if isinstance(schema, str) else None
    return None
