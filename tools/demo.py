"""A short tour of what works: read Apache Kafka's disk, write one that Apache Kafka reads. `make demo` runs it."""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tools")]

import helpers.vectors as vectors  # noqa: E402
import peers  # noqa: E402
from odradek.common.files import OsFileSystem  # noqa: E402
from odradek.common.system import SystemClock  # noqa: E402
from odradek.log.loader import load_log  # noqa: E402
from odradek.log.unified_log import UnifiedLog  # noqa: E402
from odradek.records.builder import BatchBuilder  # noqa: E402

COMMAND = Path(sys.executable).with_name("odradek")
RECORDS = 1_000_000
RECORDS_IN_BATCH = 150  # of 100 bytes: about 16 KiB, the default of Kafka's producer
READ_BYTES = 1 << 20


def title(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def shell(*arguments: str, lines: int, cwd: Path) -> None:
    """Run the command as a user would, and show the first lines of what it says."""
    print(f"$ odradek {' '.join(arguments)}")
    done = subprocess.run([COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    for line in said[:lines]:
        print(f"  {line[:150]}")
    if len(said) > lines:
        print(f"  … and {len(said) - lines} lines more")


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
        log.append_as_leader(batch, 0)
    spent = time.perf_counter() - started
    log.flush(include_active=True)
    each_us = spent / len(prepared) * 1e6
    print(
        f"  {RECORDS:,} records in {len(prepared):,} batches, {size / 1e6:.0f} MB: appended in {spent:.2f} s, "
        f"{RECORDS / spent:,.0f} records/s, {size / spent / 1e6:,.0f} MB/s, {each_us:.1f} µs a batch"
    )
    return log


def read(log: UnifiedLog) -> None:
    started = time.perf_counter()
    offset = size = 0
    while offset < log.log_end_offset:
        data = log.fetch(log.read(offset, READ_BYTES))
        size += len(data)
        offset = _end_of(data)
    spent = time.perf_counter() - started
    print(f"  read again, CRCs checked: {size / 1e6:.0f} MB in {spent:.2f} s, {size / spent / 1e6:,.0f} MB/s")


def _end_of(data: bytes) -> int:
    from odradek.records.batch import read_batches

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


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="odradek-demo-") as scratch:
        home = Path(scratch)
        title("1. A data directory that Apache Kafka 4.3.1 wrote: its files, in words")
        vectors.unpack(vectors.CLEAN, home)
        shell("log", "dump", "data/txn-0/00000000000000000007.log", lines=8, cwd=home)
        shell("log", "dump", "--from", "16", "data/__cluster_metadata-0/00000000000000000000.log", lines=5, cwd=home)
        title("2. Everything in it checked: CRCs, records, indexes, snapshots, epochs, checkpoints")
        shell("log", "verify", "data", lines=20, cwd=home)
        title("3. A log of our own")
        log = write(home / "events-0")
        read(log)
        log.close()
        title("4. Apache Kafka reads it")
        try:
            ask_kafka(home / "events-0")
        except peers.PeerMissing as error:
            print(f"  left out: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
