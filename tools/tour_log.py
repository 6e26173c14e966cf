"""The part of the tour about the disk: read what Apache Kafka wrote, write what Apache Kafka reads."""

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import peers
import support.vectors as vectors
from odradek.common.files import OsFileSystem
from odradek.common.system_clock import SystemClock
from odradek.log.recovery.log_loader import load_log
from odradek.log.unified_log import UnifiedLog
from odradek.records.batch import read_batches
from odradek.records.builder import BatchBuilder
from tour_words import shell, title

RECORDS = 1_000_000
RECORDS_IN_BATCH = 150  # of 100 bytes: about 16 KiB, the default of Kafka's producer
READ_BYTES = 1 << 20


def batches() -> Iterator[bytearray]:
    """Of one idempotent producer, as a client would send them."""
    value = b"x" * 90
    now_ms = SystemClock().wall_ms()
    for first in range(0, RECORDS, RECORDS_IN_BATCH):
        builder = BatchBuilder(producer_id=1, producer_epoch=0, base_sequence=first)
        for number in range(first, min(first + RECORDS_IN_BATCH, RECORDS)):
            builder.append(now_ms, b"key-%06d" % number, value)
        yield bytearray(builder.build())


def write(directory: Path) -> UnifiedLog:
    log = load_log(OsFileSystem(), SystemClock(), str(directory))
    prepared = list(batches())
    size = sum(map(len, prepared))
    started = time.perf_counter()
    for batch in prepared:
        log.appender.append_as_leader(batch, 0)
    spent = time.perf_counter() - started
    log.flusher.flush(include_active=True)
    each_us = spent / len(prepared) * 1e6
    print(
        f"  {RECORDS:,} records in {len(prepared):,} batches, {size / 1e6:.0f} MB: appended in {spent:.2f} s, "
        f"{RECORDS / spent:,.0f} records/s, {size / spent / 1e6:,.0f} MB/s, {each_us:.1f} µs a batch"
    )
    return log


def read(log: UnifiedLog) -> None:
    started = time.perf_counter()
    offset = size = 0
    while offset < log.offsets.log_end_offset:
        data = log.reader.fetch(log.reader.read(offset, READ_BYTES))
        size += len(data)
        offset = _end_of(data)
    spent = time.perf_counter() - started
    print(f"  read again, CRCs checked: {size / 1e6:.0f} MB in {spent:.2f} s, {size / spent / 1e6:,.0f} MB/s")


def _end_of(data: bytes) -> int:
    return max(batch.next_offset for batch in read_batches(data))


def ask_kafka(directory: Path) -> None:
    segment = min(directory.glob("*.log"))
    arguments = ["--files", str(segment)]
    print(f"$ kafka-dump-log.sh --files {segment.name}")
    command = peers.java_command("org.apache.kafka.tools.DumpLogSegments", arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    counts = [int(count) for count in re.findall(r" count: (\d+) .* isvalid: true", done.stdout)]
    print(f"  {done.stdout.splitlines()[2][:150]}")
    print(f"  … {len(counts):,} valid batches with {sum(counts):,} records, says Apache Kafka {peers.KAFKA_VERSION}")


def tour(home: Path) -> None:
    title("4. The disk is Kafka's: a data directory that Apache Kafka 4.3.1 wrote, checked by us")
    vectors.unpack(vectors.CLEAN, home)
    shell("log", "dump", "--from", "16", "data/__cluster_metadata-0/00000000000000000000.log", lines=5, cwd=home)
    shell("log", "verify", "data", lines=20, cwd=home)
    title("5. A log of our own, read by Apache Kafka")
    log = write(home / "events-0")
    read(log)
    log.close()
    ask_kafka(home / "events-0")
