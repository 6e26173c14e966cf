"""Avro with fastavro: the schema comes from a file, from text, or from a schema registry.

Without a registry, values are written with the configured schema. With a registry, each value names its writer schema,
which each worker requests once. It is resolved against the reader schema: the configured one, or the latest one of the
subject when the format was created. The columns are those of the reader schema.
"""

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pyspark.sql import Column
from pyspark.sql.types import StructType

from odradek.client.schema_registry.framing import encode_prefix, read_prefix
from odradek.client.schema_registry.registry import RegisteredSchema, SchemaReference, SchemaRegistry, registry_at
from odradek.common.extras import missing_extra
from odradek.common.failures import InputError
from odradek.spark.formats.arrow_results import decoding, encoding
from odradek.spark.formats.avro_types import after_reading, before_writing, spark_schema
from odradek.spark.formats.schemas import read_text

try:
    import fastavro
except ImportError:  # an extra, which other formats do not need
    fastavro = None  # type: ignore[assignment]

#: Parsed schemas that one process caches.
_PARSED_MAX = 1_000
#: Nesting of references between schemas.
_DEPTH_MAX = 16

#: Texts of schemas, each after the schemas it refers to; the last one is the schema of the values.
SchemaTexts = tuple[str, ...]


def avro(
    *,
    schema_file: str | Path | None = None,
    schema: str | Mapping[str, Any] | None = None,
    registry: str | None = None,
    subject: str | None = None,
    user: str | None = None,
    password: str | None = None,
) -> "AvroFormat":
    """Return the Avro format of a schema: of a file (.avsc), of `schema`, or the latest one of the registry's
    `subject`.

    With `registry`, the address of a schema registry, values have its prefix; `user` and `password` are for the
    registry. Encoding with a registry requires the subject, such as orders-value.
    """
    if fastavro is None:
        raise missing_extra("avro", "Avro")
    if schema is not None and schema_file is not None:
        raise InputError("schema and schema_file cannot both be set")
    schemas = registry_at(registry, user, password)
    text = _schema_text(schema, schema_file)
    if text is None and (schemas is None or subject is None):
        raise InputError("one of schema_file, schema, and registry with subject is required")
    if subject is not None and schemas is None:
        raise InputError("subject requires a registry: set registry='http://…' too")
    if text is None:
        assert schemas is not None and subject is not None
        latest = schemas.latest(subject)
        return _checked(AvroFormat(_with_references(schemas, latest), schemas, latest.schema_id))
    schema_id = schemas.id_of(subject, text) if schemas is not None and subject is not None else None
    return _checked(AvroFormat((text,), schemas, schema_id))


@dataclass(frozen=True, slots=True)
class AvroFormat:
    """Avro with one reader schema."""

    texts: SchemaTexts
    registry: SchemaRegistry | None
    #: Id of the schema with which values are encoded.
    schema_id: int | None

    def schema(self) -> StructType:
        parsed = _parsed(self.texts)
        return spark_schema(parsed.schema, parsed.named)

    def decoded(self, column: Column) -> Column:
        texts, registry = self.texts, self.registry
        return decoding(lambda: avro_decoder(texts, registry), self.schema(), column)

    def encoded(self, column: Column) -> Column:
        if self.registry is not None and self.schema_id is None:
            raise InputError("encoding with a registry requires subject=, under which the schema is registered")
        texts, schema_id = self.texts, self.schema_id
        return encoding(lambda: avro_encoder(texts, schema_id), column)


@dataclass(frozen=True, slots=True)
class _ParsedSchema:
    schema: Any
    named: dict[str, Any]


@lru_cache(_PARSED_MAX)
def avro_decoder(texts: SchemaTexts, registry: SchemaRegistry | None) -> Callable[[bytes], Any]:
    """Return a decoder of single values; its exceptions explain why a value is invalid."""
    reader = _parsed(texts)
    convert = after_reading(reader.schema, reader.named)

    def decode(data: bytes) -> Any:
        source = io.BytesIO(data)
        writer = reader.schema
        if registry is not None:
            prefix = read_prefix(data)
            writer = _writer(registry, prefix.schema_id).schema
            source.seek(prefix.end)
        value = fastavro.schemaless_reader(source, writer, reader.schema)
        if source.tell() != len(data):
            raise ValueError(f"{len(data) - source.tell()} bytes follow the Avro value")
        return value if convert is None else convert(value)

    return decode


@lru_cache(_PARSED_MAX)
def avro_encoder(texts: SchemaTexts, schema_id: int | None) -> Callable[[Any], bytes]:
    """Return an encoder of single values."""
    parsed = _parsed(texts)
    convert = before_writing(parsed.schema, parsed.named)
    prefix = b"" if schema_id is None else encode_prefix(schema_id)

    def encode(value: Any) -> bytes:
        target = io.BytesIO(prefix)
        target.seek(len(prefix))
        record = value if convert is None else convert(value)
        fastavro.schemaless_writer(target, parsed.schema, record, strict_allow_default=True)
        return target.getvalue()

    return encode


def _schema_text(schema: str | Mapping[str, Any] | None, schema_file: str | Path | None) -> str | None:
    if schema_file is not None:
        return read_text(Path(schema_file), "an Avro schema (.avsc)")
    return json.dumps(schema) if isinstance(schema, Mapping) else schema


def _checked(format: AvroFormat) -> AvroFormat:
    """Return the format. Raise InputError for an invalid schema here, where the format is created."""
    format.schema()
    return format


@lru_cache(_PARSED_MAX)
def _parsed(texts: SchemaTexts) -> _ParsedSchema:
    named: dict[str, Any] = {}
    schema: Any = None
    for text in texts:
        try:
            schema = fastavro.parse_schema(json.loads(text), named)
        except Exception as error:  # noqa: BLE001 - fastavro raises many types of errors for invalid schemas
            reason = f"{type(error).__name__}: {error}"
            raise InputError(f"invalid Avro schema: {reason}, in {text[:200]}") from None
    return _ParsedSchema(schema, named)


@lru_cache(_PARSED_MAX)
def _writer(registry: SchemaRegistry, schema_id: int) -> _ParsedSchema:
    return _parsed(_with_references(registry, registry.by_id(schema_id)))


def _with_references(registry: SchemaRegistry, registered: RegisteredSchema) -> SchemaTexts:
    texts: dict[SchemaReference, str] = {}

    def collect(references: tuple[SchemaReference, ...], depth: int) -> None:
        if depth > _DEPTH_MAX:
            raise InputError(f"{registry.url}: references between schemas are nested {depth} deep")
        for reference in references:
            if reference not in texts:
                referred = registry.referred(reference)
                collect(referred.references, depth + 1)
                texts[reference] = referred.text

    collect(registered.references, 1)
    return (*texts.values(), registered.text)
