"""The record parsers and builders of two other clients, as libraries: kafka-python and aiokafka."""

import warnings
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import cramjam

from support.builders.records import Made

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # kafka-python reads its schemas with a function that Python has deprecated
    import kafka.codec
    from aiokafka.record.default_records import DefaultRecordBatchBuilder as AioBuilder
    from aiokafka.record.legacy_records import LegacyRecordBatchBuilder as AioLegacyBuilder
    from aiokafka.record.memory_records import MemoryRecords as AioRecords
    from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder
    from kafka.record.legacy_records import LegacyRecordBatchBuilder as KafkaPythonLegacyBuilder
    from kafka.record.memory_records import MemoryRecords as KafkaPythonRecords

# kafka-python does the framing of snappy itself and only wants the bare codec, from a library that we do not install.
kafka.codec.snappy = SimpleNamespace(
    compress=lambda data: bytes(cramjam.snappy.compress_raw(data)),
    decompress=lambda data: bytes(cramjam.snappy.decompress_raw(data)),
)

READERS: dict[str, Callable[[bytes], Any]] = {"kafka-python": KafkaPythonRecords, "aiokafka": AioRecords}
BUILDERS: dict[str, Any] = {"kafka-python": KafkaPythonBuilder, "aiokafka": AioBuilder}
LEGACY_BUILDERS: dict[str, Any] = {"kafka-python": KafkaPythonLegacyBuilder, "aiokafka": AioLegacyBuilder}

#: More than any test writes.
_BATCH_BYTES = 1 << 24


def read_as(client: str, data: bytes) -> list[Any]:
    """Every record as this client's parser sees it, after it has checked the CRC."""
    records = []
    memory = READERS[client](data)
    while memory.has_next():
        batch = memory.next_batch()
        assert batch.validate_crc()
        records += list(batch)
    return records


def build_as(client: str, records: Sequence[Made], codec: int, **producer: int) -> bytes:
    fields = {"is_transactional": 0, "producer_id": -1, "producer_epoch": -1, "base_sequence": -1, **producer}
    builder = BUILDERS[client](magic=2, compression_type=codec, batch_size=_BATCH_BYTES, **fields)
    for offset, record in enumerate(records):
        assert builder.append(offset, record.timestamp, record.key, record.value, list(record.headers)) is not None
    return bytes(builder.build())


def build_legacy_as(client: str, magic: int, records: Sequence[Made], codec: int) -> bytes:
    """Offsets 0, 1, 2; if compressed, in a wrapper at offset 0, as a producer sends it."""
    builder = LEGACY_BUILDERS[client](magic=magic, compression_type=codec, batch_size=_BATCH_BYTES)
    for offset, record in enumerate(records):
        assert builder.append(offset, record.timestamp, record.key, record.value) is not None
    return bytes(builder.build())


def seen(record: Any) -> tuple[Any, ...]:
    """What all parsers must agree on."""
    return (
        record.offset,
        record.timestamp,
        record.key,
        record.value,
        [(name, value) for name, value in record.headers],
    )
