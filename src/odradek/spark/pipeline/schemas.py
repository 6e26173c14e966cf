"""Files with schemas that definitions name: whether they are there and can be read."""

from pathlib import Path

from odradek.common.failures import InputError
from odradek.spark.pipeline.uses import SchemaFile


def schema_problem(file: SchemaFile, directory: Path) -> str | None:
    """What is wrong with it; None if nothing is. Paths are those of the project's directory."""
    name = file.arguments.get("schema_file") or file.arguments.get("descriptor_file") or ""
    path = directory / name
    if not path.is_file():
        return f"there is no file {name}"
    try:
        if file.format == "avro":
            from odradek.spark.formats import avro

            avro(schema_file=path)
        else:
            from odradek.spark.formats import protobuf

            protobuf(descriptor_file=path, message=file.arguments.get("message", ""))
    except InputError as error:
        return f"{name}: {error}"
    return None
