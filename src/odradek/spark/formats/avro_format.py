"""Avro by fastavro: the schema from a file, from text, or from a registry.

Without a registry, values are written with the one schema that is given. With a registry, each value names the schema
it was written with, which is asked for once in each worker; it is resolved against the one that is given, or against
the newest of the subject as it was when the format was made. Which columns there are is known from the latter alone.
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

from odradek.common.extras import missing_extra
from odradek.common.failures import InputError
from odradek.spark.formats.arrow_results import decoding, encoding
from odradek.spark.formats.avro_types import after_reading, before_writing, spark_schema
from odradek.spark.formats.registry import Reference, Registered, Registry, registry_at
from odradek.spark.formats.schemas import read_text
from odradek.spark.formats.wire import prefix, unframed

try:
    import fastavro
except ImportError:  # it comes with an extra, and other formats do without
    fastavro = None  # type: ignore[assignment]

#: Schemas that one process has parsed.
_PARSED_MAX = 1_000
#: Of references to references.
_DEPTH_MAX = 16

#: Texts of schemas, each after those that it refers to; the last one is meant.
Texts = tuple[str, ...]


def avro(
    *,
    schema_file: str | Path | None = None,
    schema: str | Mapping[str, Any] | None = None,
    registry: str | None = None,
    subject: str | None = None,
    user: str | None = None,
    password: str | None = None,
) -> "AvroFormat":
    """The schema is in a file (.avsc), is given, or is the newest of the registry's `subject`, as in orders-value.

    With `registry`, its address, values have the registry's prefix; `user` and `password` are for it. To encode with a
    registry the subject is needed.
    """
    if fastavro is None:
        raise missing_extra("avro", "Avro")
    if schema is not None and schema_file is not None:
        raise InputError("schema and schema_file contradict each other: one of them is the schema")
    known = registry_at(registry, user, password)
    given = _given(schema, schema_file)
    if given is None and (known is None or subject is None):
        raise InputError("one of schema_file, schema, and registry with subject is needed")
    if subject is not None and known is None:
        raise InputError("subject is for a registry: say registry='http://…' too")
    if given is None:
        assert known is not None and subject is not None
        newest = known.latest(subject)
        return _checked(AvroFormat(_with_references(known, newest), known, newest.schema_id))
    schema_id = known.id_of(subject, given) if known is not None and subject is not None else None
    return _checked(AvroFormat((given,), known, schema_id))


@dataclass(frozen=True, slots=True)
class AvroFormat:
    texts: Texts
    registry: Registry | None
    #: With which values are written.
    schema_id: int | None

    def schema(self) -> StructType:
        parsed = _parsed(self.texts)
        return spark_schema(parsed.schema, parsed.named)

    def decoded(self, column: Column) -> Column:
        texts, registry = self.texts, self.registry
        return decoding(lambda: avro_decoder(texts, registry), self.schema(), column)

    def encoded(self, column: Column) -> Column:
        if self.registry is not None and self.schema_id is None:
            raise InputError("to encode with a registry say subject=, under which the schema is registered")
        texts, schema_id = self.texts, self.schema_id
        return encoding(lambda: avro_encoder(texts, schema_id), column)


@dataclass(frozen=True, slots=True)
class _Parsed:
    schema: Any
    named: dict[str, Any]


@lru_cache(_PARSED_MAX)
def avro_decoder(texts: Texts, registry: Registry | None) -> Callable[[bytes], Any]:
    """Of one value; what it raises says why the value is none."""
    reader = _parsed(texts)
    convert = after_reading(reader.schema, reader.named)

    def decode(data: bytes) -> Any:
        source = io.BytesIO(data)
        writer = reader.schema
        if registry is not None:
            framed = unframed(data)
            writer = _writer(registry, framed.schema_id).schema
            source.seek(framed.start)
        value = fastavro.schemaless_reader(source, writer, reader.schema)
        if source.tell() != len(data):
            raise ValueError(f"{len(data) - source.tell()} bytes follow the Avro value")
        return value if convert is None else convert(value)

    return decode


@lru_cache(_PARSED_MAX)
def avro_encoder(texts: Texts, schema_id: int | None) -> Callable[[Any], bytes]:
    parsed = _parsed(texts)
    convert = before_writing(parsed.schema, parsed.named)
    before = b"" if schema_id is None else prefix(schema_id)

    def encode(value: Any) -> bytes:
        target = io.BytesIO(before)
        target.seek(len(before))
        record = value if convert is None else convert(value)
        fastavro.schemaless_writer(target, parsed.schema, record, strict_allow_default=True)
        return target.getvalue()

    return encode


def _given(schema: str | Mapping[str, Any] | None, schema_file: str | Path | None) -> str | None:
    if schema_file is not None:
        return read_text(Path(schema_file), "an Avro schema (.avsc)")
    return json.dumps(schema) if isinstance(schema, Mapping) else schema


def _checked(format: AvroFormat) -> AvroFormat:
    """What is wrong with a schema is said where the format is made."""
    format.schema()
    return format


@lru_cache(_PARSED_MAX)
def _parsed(texts: Texts) -> _Parsed:
    named: dict[str, Any] = {}
    schema: Any = None
    for text in texts:
        try:
            schema = fastavro.parse_schema(json.loads(text), named)
        except Exception as error:  # noqa: BLE001 - fastavro has many ways to say that a schema is none
            said = f"{type(error).__name__}: {error}"
            raise InputError(f"no Avro schema: {said}, in {text[:200]}") from None
    return _Parsed(schema, named)


@lru_cache(_PARSED_MAX)
def _writer(registry: Registry, schema_id: int) -> _Parsed:
    return _parsed(_with_references(registry, registry.by_id(schema_id)))


def _with_references(registry: Registry, registered: Registered) -> Texts:
    found: dict[Reference, str] = {}

    def collect(references: tuple[Reference, ...], depth: int) -> None:
        if depth > _DEPTH_MAX:
            raise InputError(f"{registry.url}: schemas refer to each other {depth} deep")
        for each in references:
            if each not in found:
                referred = registry.referred(each)
                collect(referred.references, depth + 1)
                found[each] = referred.text

    collect(registered.references, 1)
    return (*found.values(), registered.text)
