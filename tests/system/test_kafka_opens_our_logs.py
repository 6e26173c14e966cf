"""Apache Kafka starts on a data directory whose topic logs we wrote, and serves every record.

The directory is Kafka's own (its metadata log knows the topics); every partition of a topic is emptied and written
again by us: each batch that was there is built anew and appended as a follower does, then batches of our own are
appended as a leader does. Once Kafka finds the directory as after a clean stop, once as after a crash.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from odradek.cli.app import run
from odradek.common import ids
from odradek.common.files import OsFileSystem
from odradek.log import file_names
from odradek.log.log_config import LogConfig
from odradek.log.manager import checkpoint_files
from odradek.records.batch import Batch, read_batches
from odradek.records.builder import empty_batch, retained_batch
from support import figures, vectors
from support.loads import our_logs
from support.peers import kafka_node

pytestmark = [pytest.mark.peer, pytest.mark.slow]

#: Long enough ago that retention or the cleaner would take them away while we look.
SETTINGS = {"log.retention.ms": "-1", "log.cleaner.backoff.ms": "3600000", "log.retention.check.interval.ms": "3600000"}

#: The leader epoch of the vectors' last run; Kafka goes on with a later one.
LEADER_EPOCH = 2

_POLL_S = 120


@dataclass(frozen=True, slots=True)
class Rewritten:
    records: list[vectors.ExpectedRecord]
    ends: dict[ids.TopicPartition, int]


def rewrite(data: Path) -> Rewritten:
    """Every topic partition of `data` is written by us from here on."""
    expected = vectors.expected_records()
    ends = {}
    for partition in sorted({ids.TopicPartition(record.topic, record.partition) for record in expected}):
        writer = _rewrite_partition(data / str(partition))
        expected += [_expected(partition, record) for record in writer.written]
        ends[partition] = writer.log.offsets.log_end_offset
    return Rewritten(expected, ends)


def config_of(directory: Path) -> LogConfig:
    policy = "compact" if directory.name.startswith("compacted") else "delete"
    return LogConfig(segment_bytes=300_000, cleanup_policy=(policy,))


def _rewrite_partition(directory: Path) -> our_logs.Writer:
    batches = [batch for path in sorted(directory.glob("*.log")) for batch in read_batches(path.read_bytes())]
    metadata = checkpoint_files.read_partition_metadata(OsFileSystem(), str(directory))
    assert metadata is not None
    shutil.rmtree(directory)
    log = our_logs.open_log(directory, config_of(directory), topic_id=metadata.topic_id)
    log.assign_topic_id(metadata.topic_id)
    for batch in batches:
        log.appender.append_as_follower(_built_anew(batch), batch.leader_epoch)
    writer = our_logs.Writer(log, leader_epoch=LEADER_EPOCH)
    for producer_id in (-1, 5000):
        writer.batch(40, producer_id=producer_id)
    our_logs.finish(log)
    return writer


def _built_anew(batch: Batch) -> bytearray:
    records = list(batch.records())
    return bytearray(retained_batch(batch, records) if records else empty_batch(batch))


def _expected(partition: ids.TopicPartition, record: our_logs.Written) -> vectors.ExpectedRecord:
    return vectors.ExpectedRecord(
        topic=partition.topic,
        partition=partition.partition,
        offset=record.offset,
        timestamp=record.timestamp,
        timestamp_type=1,
        key=None if record.key is None else record.key.encode(),
        value=None if record.value is None else record.value.encode(),
        headers=record.headers,
        leader_epoch=record.leader_epoch,
        committed=True,
    )


def write_checkpoints(data: Path, ends: dict[ids.TopicPartition, int]) -> None:
    for name in (file_names.RECOVERY_POINT_CHECKPOINT, file_names.REPLICATION_CHECKPOINT):
        offsets = checkpoint_files.read_offset_checkpoint(OsFileSystem(), str(data / name))
        checkpoint_files.write_offset_checkpoint(OsFileSystem(), str(data / name), {**offsets, **ends})


def consume(bootstrap: str, partitions: list[ids.TopicPartition], isolation: str) -> Iterator[Message]:
    """Everything in these partitions up to their ends."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
            "check.crcs": True,
        }
    )
    try:
        consumer.assign([TopicPartition(p.topic, p.partition, 0) for p in partitions])
        unfinished = set(partitions)
        while unfinished:
            message = consumer.poll(_POLL_S)
            assert message is not None, f"nothing came for {_POLL_S} s, {unfinished} are not read to their ends"
            if message.error() is None:
                yield message
            else:
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                unfinished.discard(ids.TopicPartition(message.topic(), message.partition()))
    finally:
        consumer.close()


def as_expected(message: Message, committed: bool) -> vectors.ExpectedRecord:
    stamp_type, timestamp = message.timestamp()
    return vectors.ExpectedRecord(
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
        timestamp=timestamp,
        timestamp_type=stamp_type,
        key=message.key(),
        value=message.value(),
        headers=tuple(message.headers() or ()),
        leader_epoch=message.leader_epoch(),
        committed=committed,
    )


def place(record: vectors.ExpectedRecord) -> tuple[str, int, int]:
    return record.topic, record.partition, record.offset


@pytest.mark.parametrize("stop", ["clean stop", "crash"])
def test_kafka_serves_every_record(stop: str, clean_data: Path, tmp_path: Path) -> None:
    written = rewrite(clean_data)
    expected = sorted(written.records, key=place)
    if stop == "crash":
        (clean_data / file_names.CLEAN_SHUTDOWN).unlink()
    else:
        write_checkpoints(clean_data, written.ends)
    assert run(["log", "verify", str(clean_data)]) == 0
    partitions = sorted(written.ends)
    with kafka_node.kafka_node(clean_data, tmp_path / "node", settings=SETTINGS) as node:
        committed = {
            (m.topic(), m.partition(), m.offset()) for m in consume(node.bootstrap, partitions, "read_committed")
        }
        served = [
            as_expected(m, (m.topic(), m.partition(), m.offset()) in committed)
            for m in consume(node.bootstrap, partitions, "read_uncommitted")
        ]
        assert sorted(served, key=place) == expected
        node.stop()
        complaints = [line for line in node.log.read_text().splitlines() if _is_complaint(line)]
    assert not complaints
    figures.report(
        "Apache Kafka serves logs that we wrote",
        after=stop,
        partitions=len(partitions),
        records=len(served),
        committed=len(committed),
    )


def _is_complaint(line: str) -> bool:
    """A log or an index that Kafka did not take as it was."""
    said = line.lower()
    return ("corrupt" in said or "rebuild" in said or "invalid" in said) and (" warn " in said or " error " in said)


def test_what_kafka_left_is_ours_again(clean_data: Path, tmp_path: Path) -> None:
    """There and back: after Kafka's clean stop on our logs, they verify, and load without a repair."""
    written = rewrite(clean_data)
    write_checkpoints(clean_data, written.ends)
    with kafka_node.kafka_node(clean_data, tmp_path / "node", settings=SETTINGS) as node:
        list(consume(node.bootstrap, sorted(written.ends), "read_committed"))
        node.stop()
    assert run(["log", "verify", str(clean_data)]) == 0
    for partition, end_offset in written.ends.items():
        directory = clean_data / str(partition)
        log = our_logs.open_log(directory, config_of(directory))
        assert (log.offsets.log_end_offset, log.repairs) == (end_offset, ())
        log.close()
