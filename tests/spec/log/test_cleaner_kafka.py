"""Our cleaner against Apache Kafka's: the same segments in, the same bytes out.

`compacted-0` of the vectors was cleaned by Apache Kafka; its `.deleted` files are the segments as they were before.
They are put back, cleaned by us with the clock as it stood, and compared with what Kafka made of them.
"""

import shutil
from pathlib import Path

import pytest

from odradek.common.files import OsFileSystem
from odradek.log.cleaner.cleaner import CleanerConfig, Cleaning, run_steps
from odradek.log.cleaner.cleaning_plan import cleanable_offsets, make_plan, measure
from odradek.log.cleaner.throttle import Throttle
from odradek.log.file_names import CLEANER_CHECKPOINT, DELETED_SUFFIX
from odradek.log.log_config import LogConfig
from odradek.log.manager.checkpoint_files import read_offset_checkpoint
from odradek.log.recovery.log_loader import load_log
from odradek.log.unified_log import UnifiedLog
from odradek.records.batch import read_batches
from support.builders.cleaning import SEED
from support.builders.logs import HandClock
from support.peers.kafka_tools import dump_log_segments

CLEANED = "00000000000000000000"
#: Where Kafka's cleaner stopped: the active segment began there.
END_OFFSET = 120


def before_cleaning(data: Path, target: Path) -> Path:
    """The partition as it was before Kafka's cleaner came."""
    source, partition = data / "compacted-0", target / "compacted-0"
    partition.mkdir(parents=True)
    for path in sorted(source.iterdir()):
        base = path.name.removesuffix(DELETED_SUFFIX)
        cleaned = path.name.startswith(CLEANED) and path.name == base
        if not cleaned:
            shutil.copy2(path, partition / base)
    return partition


def kafka_clock(data: Path) -> int:
    """Kafka stamped its delete horizon from its clock; a retention of nothing makes the horizon that clock."""
    log = (data / "compacted-0" / f"{CLEANED}.log").read_bytes()
    horizons = {batch.delete_horizon_ms for batch in read_batches(log)} - {None}
    (horizon,) = horizons
    assert horizon is not None
    return horizon


def load(partition: Path, now_ms: int) -> UnifiedLog:
    config = LogConfig(cleanup_policy=("compact",), delete_retention_ms=0)
    log = load_log(OsFileSystem(), HandClock(now_ms), str(partition), config, clean_shutdown=True)
    log.offsets.set_high_watermark(log.offsets.log_end_offset)
    return log


def clean_all(log: UnifiedLog) -> Cleaning:
    now_ms = log.clock.wall_ms()
    plan = make_plan(measure(log, cleanable_offsets(log, None, now_ms), now_ms), now_ms)
    cleaning = Cleaning(plan, log.files, log.clock, CleanerConfig(), Throttle(float("inf"), 0), SEED)
    run_steps(cleaning, log, lambda _: None)
    return cleaning


def test_the_cleaned_segment_is_kafkas_byte_for_byte(clean_data: Path, tmp_path: Path) -> None:
    now_ms = kafka_clock(clean_data)
    partition = before_cleaning(clean_data, tmp_path / "ours")
    log = load(partition, now_ms)
    assert log.segments.base_offsets == [0, 8, 45, 69, 71, 93, 120]
    cleaning = clean_all(log)
    log.close()
    kafkas = clean_data / "compacted-0"
    for kind in (".log", ".index", ".timeindex"):
        ours, theirs = partition / f"{CLEANED}{kind}", kafkas / f"{CLEANED}{kind}"
        assert ours.read_bytes() == theirs.read_bytes(), kind
    checkpoint = read_offset_checkpoint(OsFileSystem(), str(clean_data / CLEANER_CHECKPOINT))
    assert cleaning.end_offset == checkpoint["compacted", 0] == END_OFFSET  # type: ignore[index]


def test_the_same_files_are_left_over(clean_data: Path, tmp_path: Path) -> None:
    """Segments and snapshots that went become `.deleted`, those that stay do not."""
    partition = before_cleaning(clean_data, tmp_path / "ours")
    log = load(partition, kafka_clock(clean_data))
    clean_all(log)
    log.close()
    ours = {path.name for path in partition.iterdir() if not path.name.endswith(".txnindex")}
    kafkas = {path.name for path in (clean_data / "compacted-0").iterdir()}
    assert ours == kafkas


@pytest.mark.peer
def test_kafkas_own_tool_reads_what_we_cleaned(clean_data: Path, tmp_path: Path) -> None:
    """All partitions of the vectors, cleaned by us whether they were meant to be or not, dump without a complaint."""
    paths = []
    for name in ("compacted-0", "gzip-0", "snappy-0", "lz4-0", "zstd-0", "txn-0", "append-time-0", "small-segments-0"):
        partition = tmp_path / "ours" / name
        shutil.copytree(clean_data / name, partition, ignore=shutil.ignore_patterns(f"*{DELETED_SUFFIX}"))
        log = load(partition, kafka_clock(clean_data))
        log.roller.roll()
        clean_all(log)
        log.close()
        paths += [str(path) for path in sorted(partition.glob("*.log"))]
        paths += [str(path) for path in sorted(partition.glob("*.index"))]
        paths += [str(path) for path in sorted(partition.glob("*.timeindex"))]
        paths += [str(path) for path in sorted(partition.glob("*.txnindex"))]
    text = dump_log_segments("--deep-iteration", "--print-data-log", "--files", ",".join(paths))
    assert text.count("Dumping ") == len(paths)
    for complaint in (
        "isvalid: false",
        "Exception",
        "Mismatches",
        "mismatch",
        "Indexed offset",
        "out of order",
        "orrupt",
    ):
        assert complaint not in text, complaint
    assert text.count("magic: 2") > 10
