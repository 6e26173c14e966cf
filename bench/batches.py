"""Cost of what is done to batches on the hot paths, for batches of 16 KiB.

The floor is what the same bytes cost through CRC-32C alone, or, where they are not checksummed, through one copy.
`python bench/batches.py` prints the table by itself.
"""

import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from crc32c import crc32c

from odradek.records import batch_walk as imported_walk
from odradek.records.batch import (
    ATTRIBUTES_AT,
    HEADER_BYTES,
    OVERHEAD_BYTES,
    Compression,
    header_at,
    read_batch,
    read_batches,
)
from odradek.records.builder import BatchBuilder
from odradek.records.columns.record_columns import read_columns
from odradek.records.compression import decompress
from timing import median_us

BATCH_BYTES = 16 * 1024
CHUNK_BATCHES = 64


def plain(name: str) -> ModuleType:
    """A hot module as Python, even if it is compiled."""
    path = Path(imported_walk.__file__).parent / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"plain_{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(record_bytes: int, codec: Compression = Compression.NONE, base_offset: int = 0) -> bytes:
    """About 16 KiB uncompressed, of records of this size with a key of 8 bytes."""
    builder = BatchBuilder(compression=codec, base_offset=base_offset)
    value = os.urandom(record_bytes // 2) + bytes(record_bytes - record_bytes // 2 - 16)
    for index in range(BATCH_BYTES // record_bytes):
        builder.append(1_700_000_000_000 + index, b"key%05d" % index, value)
    return builder.build()


def chunk(record_bytes: int, codec: Compression = Compression.NONE) -> bytes:
    count = BATCH_BYTES // record_bytes
    return b"".join(build(record_bytes, codec, index * count) for index in range(CHUNK_BATCHES))


def row(operation: str, median: float, floor: float | None = None, note: str = "") -> dict[str, Any]:
    return {"operation": operation, "median_us": median, "floor_us": floor, "note": note}


def run() -> list[dict[str, Any]]:
    return [*_headers(), *_walks(), *_records(), *_chunks(), *_codecs()]


def _headers() -> Iterator[dict[str, Any]]:
    data = build(100)
    batch = read_batch(data)
    view = memoryview(data)
    covered = view[ATTRIBUTES_AT:]
    yield row("batch: read a header", median_us(lambda: read_batch(view, 0)))
    yield row("batch: read a header as a tuple", median_us(lambda: header_at(view, 0)))
    yield row("batch: check 16 KiB", median_us(batch.check), median_us(lambda: crc32c(covered)), "floor: CRC-32C alone")


def _walks() -> Iterator[dict[str, Any]]:
    modules = [("plain", plain("batch_walk"))]
    if imported_walk.COMPILED:
        modules.append(("compiled", imported_walk))
    for record_bytes in (100, 1000):
        data = build(record_bytes)
        count = read_batch(data).count
        for name, module in modules:
            spent = median_us(lambda: module.walk(data, HEADER_BYTES, len(data), count))  # noqa: B023
            note = f"{spent / count * 1000:.0f} ns a record"
            yield row(f"batch: structural walk of 16 KiB, records of {record_bytes} B, {name}", spent, None, note)


def _records() -> Iterator[dict[str, Any]]:
    data = build(100)
    count = read_batch(data).count
    copied = median_us(lambda: bytes(bytearray(data)))
    for operation, call in (
        ("batch: build 16 KiB, records of 100 B", lambda: build(100)),
        ("batch: iterate 16 KiB, records of 100 B", lambda: list(read_batch(data).records())),
    ):
        spent = median_us(call)
        yield row(operation, spent, copied, f"{spent / count * 1000:.0f} ns a record; floor: two copies")


def _chunks() -> Iterator[dict[str, Any]]:
    for record_bytes in (100, 1000):
        for codec in (Compression.NONE, Compression.LZ4):
            data = chunk(record_bytes, codec)
            columns = read_columns(data)
            count = len(columns)
            name = f"{CHUNK_BATCHES} batches of {record_bytes} B records, {codec.name.lower()}"
            for what, call in (("columns", lambda: read_columns(data)), ("values", columns.values)):  # noqa: B023
                spent = median_us(call)
                yield row(f"batch: {what} of {name}", spent, None, f"{spent / count:.3f} µs a record")
    data = chunk(100)
    floor = median_us(lambda: crc32c(data))
    yield row(
        "batch: recovery walk of 1 MiB, objects", median_us(lambda: _recover(data)), floor, "floor: CRC-32C alone"
    )
    yield row("batch: recovery walk of 1 MiB, tuples", median_us(lambda: _recover_tuples(data)), floor)


def _recover(data: bytes) -> int:
    next_offset = 0
    for batch in read_batches(data):
        batch.check()
        next_offset = batch.next_offset
    return next_offset


def _recover_tuples(data: bytes) -> int:
    view = memoryview(data)
    position, next_offset = 0, 0
    while position < len(view):
        fields = header_at(view, position)
        end = position + fields[1] + OVERHEAD_BYTES
        if crc32c(view[position + ATTRIBUTES_AT : end]) != fields[4]:
            raise ValueError(position)
        next_offset = fields[0] + fields[6] + 1
        position = end
    return next_offset


def _codecs() -> Iterator[dict[str, Any]]:
    for codec in Compression:
        if codec == Compression.NONE:
            continue
        batch = read_batch(build(100, codec))
        payload = bytes(batch.buffer[HEADER_BYTES:])
        unfold: Callable[[], bytes] = lambda: decompress(codec, payload)  # noqa: B023, E731
        yield row(f"batch: decompress 16 KiB, {codec.name.lower()}", median_us(unfold))


if __name__ == "__main__":
    for line in run():
        floor = "" if line["floor_us"] is None else f"{line['floor_us']:9.2f}"
        print(f"{line['operation']:70} {line['median_us']:9.2f} {floor:>9}  {line['note']}")
