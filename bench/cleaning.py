"""Compaction: how fast a log of 100 MiB is cleaned, and what the map of its keys takes.

Every key is written twice, in an order of chance, so half of the records go. The floor reads the same bytes twice,
takes their CRC-32C twice (keys first, survivors second), and writes and syncs half of them.
`python bench/cleaning.py` prints the rows by itself.
"""

import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import crc32c
import numpy as np

from odradek.common.files import OsFileSystem
from odradek.common.system_clock import SystemClock
from odradek.log.cleaner.cleaner import CleanerConfig, Cleaning, run_steps
from odradek.log.cleaner.cleaning_plan import cleanable_offsets, make_plan, measure
from odradek.log.cleaner.offset_map import BYTES_PER_SLOT, KeyHasher, OffsetMap
from odradek.log.cleaner.throttle import Throttle
from odradek.log.log_config import LogConfig
from odradek.log.recovery.log_loader import load_log
from odradek.log.unified_log import UnifiedLog
from odradek.records.batch import Compression
from odradek.records.builder import BatchBuilder
from timing import median_us, scratch_directory

LOG_BYTES = 100 << 20
BATCH_BYTES = 16 * 1024
ROUNDS = 3

#: Of a record beside its value: a key of 16 bytes, and some 9 of lengths and deltas.
_OVERHEAD_BYTES = 25

_SEED = b"the benchmark draws no lots"
_CONFIG = LogConfig(cleanup_policy=("compact",), segment_bytes=1 << 30)


@dataclass(frozen=True, slots=True)
class Shape:
    record_bytes: int
    codec: Compression

    @property
    def name(self) -> str:
        codec = "" if self.codec is Compression.NONE else f", {self.codec.name.lower()}"
        return f"records of {self.record_bytes} B{codec}"


def write_log(directory: Path, shape: Shape) -> int:
    """Everything in one sealed segment, and an empty active one; how many records."""
    chance = random.Random(1)
    count = LOG_BYTES // shape.record_bytes
    numbers = [number % (count // 2) for number in range(count)]
    chance.shuffle(numbers)
    per_batch = max(1, BATCH_BYTES // shape.record_bytes)
    value = chance.randbytes((shape.record_bytes - _OVERHEAD_BYTES) // 2)
    value += bytes(shape.record_bytes - _OVERHEAD_BYTES - len(value))
    log = load(directory)
    for start in range(0, count, per_batch):
        builder = BatchBuilder(compression=shape.codec)
        for offset, number in enumerate(numbers[start : start + per_batch], start):
            builder.append(1_700_000_000_000 + offset, b"key-%012d" % number, value)
        log.appender.append_as_leader(bytearray(builder.build()), 0)
    log.roller.roll()
    log.flusher.flush(include_active=True)
    log.close()
    return count


def load(directory: Path) -> UnifiedLog:
    log = load_log(OsFileSystem(), SystemClock(), str(directory), _CONFIG, clean_shutdown=True)
    log.offsets.set_high_watermark(log.offsets.log_end_offset)
    return log


def clean(directory: Path) -> Cleaning:
    """One whole round: plan, map, survivors, sync, swap."""
    log = load(directory)
    now_ms = log.clock.wall_ms()
    plan = make_plan(measure(log, cleanable_offsets(log, None, now_ms), now_ms), now_ms)
    cleaning = Cleaning(plan, log.files, log.clock, CleanerConfig(), Throttle(float("inf"), 0), _SEED)
    run_steps(cleaning, log, lambda _: None)
    log.close()
    return cleaning


def floor_seconds(segment: Path) -> float:
    """The same bytes through read, CRC-32C, write and sync alone."""
    with segment.open("rb") as source, tempfile.TemporaryFile(dir=scratch_directory()) as target:
        start = time.perf_counter()
        for keeps in (False, True):
            source.seek(0)
            while data := source.read(256 << 10):
                crc32c.crc32c(data)
                if keeps:
                    os.write(target.fileno(), data[: len(data) // 2])
        os.fdatasync(target.fileno())
        return time.perf_counter() - start


def _rounds(shape: Shape) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory(dir=scratch_directory()) as scratch:
        original = Path(scratch) / "original" / "topic-0"
        original.parent.mkdir()
        count = write_log(original, shape)
        segment = original / f"{0:020d}.log"
        size_mib = segment.stat().st_size / (1 << 20)
        spent: list[float] = []
        floors: list[float] = []
        for number in range(ROUNDS):
            copy = Path(scratch) / str(number) / "topic-0"
            shutil.copytree(original, copy)
            start = time.perf_counter()
            stats = clean(copy).stats
            spent.append(time.perf_counter() - start)
            floors.append(floor_seconds(segment))
            shutil.rmtree(copy.parent)
        median = statistics.median(spent)
        note = f"{size_mib / median:.0f} MB/s, {median / count * 1e6:.2f} µs a record, {stats.messages_written} kept"
        yield {
            "operation": f"cleaner: {size_mib:.0f} MiB, half of the keys dirty, {shape.name}",
            "median_us": median * 1e6,
            "floor_us": statistics.median(floors) * 1e6,
            "note": note,
        }


def _map() -> Iterator[dict[str, Any]]:
    """A table at the load factor at which a round ends, by chunks of the size that the cleaner reads."""
    slots, chunk = 1_000_000, 2_000
    hasher = KeyHasher(_SEED)
    offset_map = OffsetMap(slots * BYTES_PER_SLOT)
    keys = [b"key-%012d" % number for number in range(offset_map.max_keys)]
    spent = []
    for start in range(0, len(keys), chunk):
        some = keys[start : start + chunk]
        began = time.perf_counter()
        offset_map.put_many(hasher.hash_keys(some), np.arange(start, start + len(some)))
        spent.append(time.perf_counter() - began)
    yield {
        "operation": "cleaner: put a key into the offset map",
        "median_us": statistics.median(spent) / chunk * 1e6,
        "floor_us": None,
        "note": f"{offset_map.memory_bytes / offset_map.size:.1f} bytes a key, {offset_map.size / slots:.0%} full",
    }
    some = random.Random(2).sample(keys, chunk)
    digests = hasher.hash_keys(some)
    found = median_us(lambda: offset_map.get_many(digests)) / chunk
    yield {"operation": "cleaner: look up a key, digest at hand", "median_us": found, "floor_us": None, "note": ""}
    hashed = median_us(lambda: hasher.hash_keys(some)) / chunk
    yield {
        "operation": "cleaner: digest of a key of 16 bytes",
        "median_us": hashed,
        "floor_us": None,
        "note": "128 bits",
    }


def run() -> list[dict[str, Any]]:
    shapes = [Shape(1000, Compression.NONE), Shape(100, Compression.NONE), Shape(1000, Compression.LZ4)]
    return [*(row for shape in shapes for row in _rounds(shape)), *_map()]


if __name__ == "__main__":
    for row in run():
        print(row)
