"""Cost of the log's operations on a real disk, each beside the system calls and the CRC of the same bytes alone.

Operation and floor are measured in turn, call by call, on files that grow alike in the same directory, so that a busy
machine or a full page cache disturbs both. `ODRADEK_BENCH_RECOVERY_MIB` scales the recovery (1024 MiB by default).
"""

import os
import shutil
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from crc32c import crc32c

from odradek.common.files import OsFileSystem
from odradek.common.system_clock import SystemClock
from odradek.log.log_config import LogConfig
from odradek.log.log_reader import LogReader
from odradek.log.recovery.log_loader import LogOptions, load_log
from odradek.log.unified_log import UnifiedLog
from odradek.records.builder import BatchBuilder
from timing import scratch_directory

BATCH_BYTES = 16 * 1024
READ_BYTES = 1024 * 1024
APPENDS = 3000
LOOKUPS = 400

#: Batches of 16 KiB in the shortest log, and how much longer the others are.
SHORT_LOG_BATCHES = 200
LENGTHS = (1, 10, 100)

RECOVERY_ROUNDS = 5
RECOVERY_MIB = int(os.environ.get("ODRADEK_BENCH_RECOVERY_MIB", "1024"))

DAY_MS = 24 * 60 * 60 * 1000

_BASE_TIMESTAMP_AT = 27
_BASE_SEQUENCE_AT = 53
_CRC_AT = 17
_ATTRIBUTES_AT = 21

Row = dict[str, Any]


class Batches:
    """16 KiB batches as a producer sends them: each the next of its sequence and a millisecond later than the last,
    in a buffer of its own."""

    def __init__(self, value_bytes: int, *, idempotent: bool) -> None:
        fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0} if idempotent else {}
        builder = BatchBuilder(**fields)  # type: ignore[arg-type]
        self.first_ms = self._now_ms = int(time.time() * 1000) - DAY_MS
        now_ms = self.first_ms
        while builder.size_bytes < BATCH_BYTES - value_bytes:
            builder.append(now_ms, None, bytes(value_bytes))
        self.template = builder.build()
        self.count = builder.count
        self.idempotent = idempotent
        self._sequence = 0

    def next(self) -> bytearray:
        made = bytearray(self.template)
        struct.pack_into(">qq", made, _BASE_TIMESTAMP_AT, self._now_ms, self._now_ms)
        self._now_ms += 1
        if self.idempotent:
            struct.pack_into(">i", made, _BASE_SEQUENCE_AT, self._sequence)
            self._sequence += self.count
        struct.pack_into(">I", made, _CRC_AT, crc32c(made[_ATTRIBUTES_AT:]))
        return made


@contextmanager
def scratch() -> Iterator[str]:
    directory = tempfile.mkdtemp(prefix="odradek-bench-", dir=scratch_directory())
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


def open_log(directory: str, config: LogConfig | None = None, **arguments: Any) -> UnifiedLog:
    return load_log(OsFileSystem(), SystemClock(), f"{directory}/bench-0", config, **arguments)


def timed_us(call: Callable[[], object]) -> float:
    started = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - started) / 1000


def row(operation: str, spent: list[float], floor: list[float] | None = None, note: str = "") -> Row:
    median = statistics.median(spent)
    floor_us = statistics.median(floor) if floor else None
    return {
        "operation": operation,
        "median_us": median,
        "floor_us": floor_us,
        "ratio": median / floor_us if floor_us else None,
        "note": note,
    }


def append_row(value_bytes: int, *, idempotent: bool) -> Row:
    with scratch() as directory:
        log = open_log(directory)
        fd = os.open(f"{directory}/floor", os.O_CREAT | os.O_RDWR)
        batches = Batches(value_bytes, idempotent=idempotent)
        spent, floor = [], []
        for index in range(APPENDS):
            data = batches.next()
            view = memoryview(data)

            def bare(view: memoryview = view, position: int = index * len(data)) -> None:
                crc32c(view[_ATTRIBUTES_AT:])
                os.pwrite(fd, view, position)

            floor.append(timed_us(bare))
            spent.append(timed_us(partial(log.appender.append_as_leader, data, 0)))
        os.close(fd)
        log.close_handlers()
    kind = "idempotent" if idempotent else "plain"
    note = f"{batches.count} records; floor: crc32c and os.pwrite"
    return row(f"log append 16 KiB, {kind}, records of {value_bytes} B", spent, floor, note)


def filled_log(directory: str, batches: int, source: Batches) -> UnifiedLog:
    log = open_log(directory, LogConfig(segment_bytes=8 * 1024 * 1024))
    for _ in range(batches):
        log.appender.append_as_leader(source.next(), 0)
    log.offsets.set_high_watermark(log.offsets.log_end_offset)
    return log


def fetch(reader: LogReader, offset: int) -> bytes:
    return reader.fetch(reader.read(offset, READ_BYTES))


def read_rows() -> list[Row]:
    with scratch() as directory:
        log = filled_log(directory, 2000, Batches(1000, idempotent=True))
        parts = (log.segments, log.offsets, log.epochs, log.producers, log.health)
        unchecking = LogReader(*parts, check_on_read=False)
        checked, unchecked, floor = [], [], []
        path = log.segments.first.log_path
        fd = os.open(path, os.O_RDONLY)
        for index in range(LOOKUPS):
            offset = (index * 7919) % (log.segments.active.base_offset - 2000)
            checked.append(timed_us(partial(fetch, log.reader, offset)))
            unchecked.append(timed_us(partial(fetch, unchecking, offset)))
            position = (index * 7919) % (6 * 1024 * 1024)
            floor.append(timed_us(partial(os.pread, fd, READ_BYTES, position)))
        os.close(fd)
        log.close_handlers()
    return [
        row("log read 1 MiB by offset", unchecked, floor, "floor: os.pread"),
        row("log read 1 MiB by offset, every CRC checked", checked, floor, "floor: os.pread"),
    ]


def growth_rows() -> list[Row]:
    """The same append, read and search in ever longer logs: nothing of it may grow."""
    rows = []
    for factor in LENGTHS:
        with scratch() as directory:
            rows += length_rows(directory, factor)
    return rows


def length_rows(directory: str, factor: int) -> list[Row]:
    source = Batches(1000, idempotent=True)
    log = filled_log(directory, SHORT_LOG_BATCHES * factor, source)
    steps = [index * 7919 for index in range(LOOKUPS)]
    offsets = [step % log.offsets.log_end_offset for step in steps]
    stamps = [source.first_ms + step % (SHORT_LOG_BATCHES * factor) for step in steps]
    appends = [timed_us(partial(log.appender.append_as_leader, data, 0)) for data in [source.next() for _ in steps]]
    for _ in range(2):  # the first round opens files, the second is measured
        reads = [timed_us(partial(log.reader.read, offset, READ_BYTES)) for offset in offsets]
        finds = [timed_us(partial(log.reader.offset_for_timestamp, stamp)) for stamp in stamps]
    note = f"{log.segments.size_bytes >> 20} MiB in {len(log.segments)} segments"
    log.close_handlers()
    return [
        row(f"log append 16 KiB, log of {factor}x", appends, None, note),
        row(f"log find 1 MiB by offset, log of {factor}x", reads, None, note),
        row(f"log find by timestamp, log of {factor}x", finds, None, note),
    ]


def recovery_row() -> Row:
    """Loading after a crash with nothing flushed: every batch is read and checked, every index rebuilt."""
    with scratch() as directory:
        log = open_log(directory)
        source = Batches(1000, idempotent=True)
        while log.segments.size_bytes < RECOVERY_MIB << 20:
            log.appender.append_as_leader(source.next(), 0)
        size = log.segments.size_bytes
        paths = [segment.log_path for segment in log.segments]
        log.flusher.flush()  # or the disk is still busy with it while we measure
        log.close()
        floor, spent = [], []
        for _ in range(RECOVERY_ROUNDS):
            floor.append(timed_us(lambda: read_and_check(paths)))
            spent.append(timed_us(lambda: open_log(directory, options=LogOptions()).close_handlers()))
    speed, bare = (size / statistics.median(times) / 1000 for times in (spent, floor))
    note = f"{speed:.2f} GB/s; read and crc32c alone {bare:.2f} GB/s"
    return row(f"log recovery of {size >> 20} MiB", spent, floor, note)


def read_and_check(paths: list[str]) -> None:
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        position = 0
        while data := os.pread(fd, READ_BYTES, position):
            crc32c(data)
            position += len(data)
        os.close(fd)


def run() -> list[Row]:
    return [
        *(append_row(size, idempotent=idempotent) for size in (100, 1000) for idempotent in (False, True)),
        *read_rows(),
        *growth_rows(),
        recovery_row(),
    ]


if __name__ == "__main__":
    for line in run():
        floor_text = f"{line['floor_us']:12.1f}" if line["floor_us"] else " " * 12
        ratio_text = f"{line['ratio']:6.2f}" if line["ratio"] else " " * 6
        print(f"{line['operation']:52} {line['median_us']:12.1f} {floor_text} {ratio_text}  {line['note']}")
