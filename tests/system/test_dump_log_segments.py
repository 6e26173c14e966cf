"""Apache Kafka's own DumpLogSegments reads every file that we write, and says what we meant."""

import re
from pathlib import Path

import pytest

from odradek.cli.app import run
from odradek.log.log_config import LogConfig
from support import figures
from support.loads import our_logs
from support.peers import kafka_tools

pytestmark = pytest.mark.peer

SEGMENT_BYTES = 64 * 1024

#: What Kafka's tool prints on stderr when log and index disagree.
COMPLAINTS = ("Mismatches in", "Found timestamp mismatch", "Found out of order timestamp", "is not a file", "Error")

BATCH = re.compile(
    r"^baseOffset: (\d+) lastOffset: (\d+) count: (\d+) .* compresscodec: (\w+) crc: \d+ isvalid: (\w+)$"
)
RECORD = re.compile(
    r"^\| offset: (\d+) (?:CreateTime|LogAppendTime): (-?\d+) keySize: (-?\d+) valueSize: (-?\d+) sequence: (-?\d+)"
    r" headerKeys: \[(.*?)\](?: endTxnMarker: (\w+) coordinatorEpoch: (\d+))?(?: key: (\S*))?(?: payload: (\S*))?$"
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, our_logs.Writer]:
    directory = tmp_path_factory.mktemp("logs") / "events-0"
    log = our_logs.open_log(directory, LogConfig(segment_bytes=SEGMENT_BYTES))
    writer = our_logs.Writer(log)
    our_logs.write_everything(writer)
    our_logs.finish(log)
    return directory, writer


def files(directory: Path, pattern: str) -> str:
    found = sorted(str(path) for path in directory.glob(pattern))
    assert found
    return ",".join(found)


def test_every_record_is_read_as_it_was_written(written: tuple[Path, our_logs.Writer]) -> None:
    directory, writer = written
    segments = sorted(directory.glob("*.log"))
    assert len(segments) >= 3
    said = kafka_tools.dump_log_segments("--deep-iteration", "--print-data-log", "--files", files(directory, "*.log"))
    lines = said.splitlines()
    batches = [found for line in lines if (found := BATCH.match(line))]
    assert batches and all(batch[5] == "true" for batch in batches)
    assert {batch[4] for batch in batches} == {"none", "gzip", "snappy", "lz4", "zstd"}
    assert [read_record(line) for line in lines if line.startswith("| ")] == [expected(r) for r in writer.written]
    assert not any(complaint in said for complaint in COMPLAINTS), said[-2000:]
    # it calls the first offset of every later segment "not consecutive"; nothing else may be
    gaps = re.findall(r"(-?\d+) is followed by (\d+)", said)
    assert {before for before, _ in gaps} <= {"-1"}
    figures.report(
        "Kafka's DumpLogSegments reads our log",
        segments=len(segments),
        batches=len(batches),
        records=len(writer.written),
    )


def read_record(line: str) -> tuple[object, ...]:
    found = RECORD.match(line)
    assert found, line
    offset, timestamp, key_size, value_size, sequence, headers, marker, _, key, value = found.groups()
    return int(offset), int(timestamp), int(key_size), int(value_size), int(sequence), headers, marker, key, value


def expected(record: our_logs.Written) -> tuple[object, ...]:
    headers = ",".join(name for name, _ in record.headers)
    stamp = (record.offset, record.timestamp)
    if record.marker:
        return (*stamp, 4, 6, record.sequence, headers, record.marker, None, None)
    key_size = -1 if record.key is None else len(record.key)
    value_size = -1 if record.value is None else len(record.value)
    return (*stamp, key_size, value_size, record.sequence, headers, None, record.key, record.value)


def test_indexes_are_sane_for_kafka(written: tuple[Path, our_logs.Writer]) -> None:
    """The check that a broker makes at its start to decide whether an index must be rebuilt."""
    directory, _ = written
    names = ",".join((files(directory, "*.index"), files(directory, "*.timeindex")))
    said = kafka_tools.dump_log_segments("--index-sanity-check", "--files", names)
    assert said.count("passed sanity check.") == names.count(",") + 1


def test_indexes_point_where_kafka_finds_the_batches(written: tuple[Path, our_logs.Writer]) -> None:
    directory, _ = written
    names = ",".join((files(directory, "*.index"), files(directory, "*.timeindex")))
    said = kafka_tools.dump_log_segments("--files", names)
    assert not any(complaint in said for complaint in COMPLAINTS), said[-2000:]
    assert len(re.findall(r"^offset: \d+ position: \d+$", said, re.MULTILINE)) > 10
    assert len(re.findall(r"^timestamp: \d+ offset: \d+$", said, re.MULTILINE)) > 10


def test_aborted_transactions_are_in_the_index(written: tuple[Path, our_logs.Writer]) -> None:
    directory, writer = written
    said = kafka_tools.dump_log_segments("--files", files(directory, "*.txnindex"))
    pattern = r"^version: 0 producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)$"
    found = [tuple(map(int, entry)) for entry in re.findall(pattern, said, re.MULTILINE)]
    assert found == [tuple(aborted) for aborted in writer.aborted]


def test_producer_snapshots(written: tuple[Path, our_logs.Writer]) -> None:
    directory, writer = written
    end_offset = writer.written[-1].offset + 1
    assert max(directory.glob("*.snapshot")).name == f"{end_offset:020d}.snapshot"
    said = kafka_tools.dump_log_segments("--files", files(directory, f"{end_offset:020d}.snapshot"))
    pattern = r"producerId: (\d+) producerEpoch: 0 coordinatorEpoch: (-?\d+) .* lastSequence: (\d+) lastOffset: (\d+)"
    found = {int(entry[0]): tuple(map(int, entry[1:])) for entry in re.findall(pattern, said)}
    assert found.keys() == {100, 1000, 1001, 1002}
    assert found[100][1] == 30 * 5 * 3 - 1
    assert {epoch for producer, (epoch, _, _) in found.items() if producer >= 1000} == {7}
    kafka_tools.dump_log_segments("--files", files(directory, "*.snapshot"))


def test_leader_epochs(written: tuple[Path, our_logs.Writer]) -> None:
    directory, writer = written
    starts = {epoch: next(r.offset for r in writer.written if r.leader_epoch == epoch) for epoch in (0, 3, 4)}
    lines = "".join(f"{epoch} {start}\n" for epoch, start in starts.items())
    assert (directory / "leader-epoch-checkpoint").read_text() == f"0\n3\n{lines}"


def test_our_own_verify_agrees(written: tuple[Path, our_logs.Writer], capsys: pytest.CaptureFixture[str]) -> None:
    directory, writer = written
    assert run(["log", "verify", str(directory)]) == 0
    assert f"{len(writer.written)} records" in capsys.readouterr().out
