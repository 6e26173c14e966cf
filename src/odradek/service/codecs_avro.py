"""Avro without a registry: the schema lies in a file beside the service."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from odradek.common.extras import missing_extra
from odradek.common.failures import InputError


class AvroCodec:
    """`schema` is a file (.avsc) or the schema itself. `make` turns the fields into something better than a dict, such
    as a data class; `fields_of` back, `vars` or `dataclasses.asdict` for example."""

    def __init__(
        self,
        schema: str | Path | Mapping[str, Any],
        make: Callable[..., Any] | None = None,
        fields_of: Callable[[Any], Mapping[str, Any]] | None = None,
    ) -> None:
        try:
            self._avro = import_module("fastavro")
        except ImportError:
            raise missing_extra("avro", "AvroCodec") from None
        self._schema = self._parsed(schema)
        self._make = make
        self._fields_of = fields_of
        self.name = f"Avro {self._schema.get('name', '')}".strip()

    def decode(self, data: bytes) -> Any:
        source = io.BytesIO(data)
        fields = self._avro.schemaless_reader(source, self._schema)
        if source.tell() != len(data):
            raise ValueError(f"{len(data) - source.tell()} bytes are left after the Avro value")
        return self._make(**fields) if self._make is not None else fields

    def encode(self, value: Any) -> bytes:
        target = io.BytesIO()
        self._avro.schemaless_writer(target, self._schema, self._fields_of(value) if self._fields_of else value)
        return target.getvalue()

    def _parsed(self, schema: str | Path | Mapping[str, Any]) -> Any:
        where = "the Avro schema" if isinstance(schema, Mapping) else str(schema)
        try:
            parsed = schema if isinstance(schema, Mapping) else json.loads(Path(schema).read_text())
            return self._avro.parse_schema(parsed)
        except OSError as error:
            raise InputError(f"{where}: {error.strerror}; AvroCodec takes the path of a schema (.avsc).") from None
        except Exception as error:  # noqa: BLE001 - fastavro has many ways to say that a schema is none
            raise InputError(f"{where} is no Avro schema: {error}") from None
