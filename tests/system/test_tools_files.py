"""Metadata logs, snapshots and directories of ours under Apache Kafka's tools, and Kafka's under ours."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource

from odradek.cli.app import run
from odradek.common.files import OsFileSystem
from odradek.common.ids import uuid_to_text
from odradek.common.system_clock import SystemClock
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.records.record_serde import MetadataRecord, encode_record
from odradek.metadata_log.metadata_log import MetadataLog, MetadataLogConfig
from odradek.metadata_log.opening import open_metadata_log
from odradek.protocol import json_form
from odradek.protocol.config_types import ConfigResourceType
from odradek.protocol.message import Message
from odradek.protocol.messages.config_record import ConfigRecord
from odradek.protocol.messages.partition_record import PartitionRecord
from odradek.protocol.messages.topic_record import TopicRecord
from odradek.protocol.messages.unregister_controller_record import UnregisterControllerRecord
from odradek.raft.storage.snapshots import SnapshotWriter
from odradek.raft.values import OffsetAndEpoch
from odradek.raft.voters import VoterSet
from support import figures
from support.builders.metadata import image_in, replayed
from support.builders.metadata_records import RecordMaker, first_records
from support.builders.raft import WALL_MS, data_batch, leader_change_batch, voter
from support.peers import kafka_tools
from support.peers.kafka_node import kafka_node
from support.processes.storage import CLUSTER_ID, write_config

pytestmark = pytest.mark.peer

METADATA = "__cluster_metadata-0"
VOTERS = VoterSet([voter(1), voter(2), voter(3)])
EPOCHS = 3
RECORDS_IN_EPOCH = 400

RECORD = re.compile(r"^\| offset: (\d+) .* headerKeys: \[\] (?:payload: )?(?:(\w+):? )?(\{.*\})$")
COMPLAINTS = ("isvalid: false", "Mismatches in", "Found timestamp mismatch", "Could not", "Error", "ERROR")


class Decoded(NamedTuple):
    """A record of the metadata log as a tool shows it; `kind` in small letters without separators."""

    offset: int
    kind: str
    data: Any


class Ours(NamedTuple):
    """A directory that we formatted, with a log of several segments and a snapshot in it."""

    config: Path
    metadata: Path
    records: list[MetadataRecord]
    snapshot: Path
    image: MetadataImage


def open_log(data: Path, segment_bytes: int = 1 << 30) -> MetadataLog:
    return open_metadata_log(OsFileSystem(), SystemClock(), str(data), MetadataLogConfig(segment_bytes=segment_bytes))


def latest(message: Message) -> MetadataRecord:
    return MetadataRecord(message, message.VERSIONS[1])


def write_snapshot(log: MetadataLog, image: MetadataImage, *, kraft_version: int, wall_ms: int) -> OffsetAndEpoch:
    """Of everything in the log."""
    snapshot_id = OffsetAndEpoch(log.last_epoch, log.end_offset)
    raw = log.create_snapshot(snapshot_id)
    assert raw is not None
    writer = SnapshotWriter(
        raw, last_contained_log_timestamp=wall_ms, kraft_version=kraft_version, voters=VOTERS, wall_ms=wall_ms
    )
    writer.append([encode_record(record) for record in image.records()])
    writer.freeze()
    writer.close()
    return snapshot_id


def next_known(maker: RecordMaker, image: MetadataImage) -> Message:
    """Kafka 4.3.1 does not know every kind that our tables have."""
    while True:
        message = maker.next_record(image)
        if not isinstance(message, UnregisterControllerRecord):
            return message


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Ours:
    scratch = tmp_path_factory.mktemp("ours")
    config = write_config(scratch, scratch / "data", dynamic=True)
    assert run(["storage", "format", "-t", CLUSTER_ID, "-c", str(config), "--standalone"]) == 0
    log = open_log(scratch / "data" / "one", segment_bytes=20_000)
    maker, image = RecordMaker(Random(11)), replayed(first_records())
    written = [latest(message) for message in first_records()]
    for record in written:
        log.append_as_leader(data_batch(log.end_offset, 1, encode_record(record)), 1)
    for epoch in range(1, EPOCHS + 1):
        log.initialize_leader_epoch(epoch)
        log.append_as_leader(leader_change_batch(log.end_offset, epoch), epoch)
        for _ in range(RECORDS_IN_EPOCH):
            message = next_known(maker, image)
            image = replayed([message], image)
            written.append(latest(message))
            log.append_as_leader(data_batch(log.end_offset, epoch, encode_record(written[-1])), epoch)
    log.update_high_watermark(log.end_offset)
    snapshot_id = write_snapshot(log, image, kraft_version=1, wall_ms=WALL_MS)
    log.append_as_leader(data_batch(log.end_offset, EPOCHS, *map(encode_record, written[:2])), EPOCHS)
    log.close()
    metadata = scratch / "data" / "one" / METADATA
    name = f"{snapshot_id.offset:020d}-{snapshot_id.epoch:010d}.checkpoint"
    return Ours(config, metadata, [*written, *written[:2]], metadata / name, image)


def kafka_shows(files: list[Path]) -> dict[str, list[Decoded]]:
    """By file name, as DumpLogSegments decodes them."""
    names = ",".join(map(str, files))
    said = kafka_tools.dump_log_segments("--cluster-metadata-decoder", "--deep-iteration", "--files", names)
    assert complaints(said) == []
    shown: dict[str, list[Decoded]] = {}
    for line in said.splitlines():
        if line.startswith("Dumping "):
            records = shown.setdefault(Path(line.removeprefix("Dumping ")).name, [])
        elif line.startswith("| "):
            found = RECORD.match(line)
            assert found, line
            content = json.loads(found[3])
            kind, data = (found[2], content) if found[2] else (content["type"], content["data"])
            records.append(Decoded(int(found[1]), plain(kind), data))
    return shown


def complaints(said: str) -> list[str]:
    return [
        line for line in said.splitlines() if not line.startswith("| ") and any(word in line for word in COMPLAINTS)
    ]


def plain(kind: str) -> str:
    return kind.replace("_", "").lower()


# -- ours, under theirs


def test_dump_log_segments_decodes_our_log(ours: Ours) -> None:
    segments = sorted(ours.metadata.glob("*.log"))
    shown = kafka_shows(segments)
    records = [record for path in segments for record in shown[path.name]]
    assert [record.offset for record in records] == list(range(len(records)))
    assert [record.data["leaderId"] for record in records if record.kind == "leaderchange"] == [2] * EPOCHS
    said = [(kind, data) for _, kind, data in records if kind != "leaderchange"]
    assert said == [
        (type(message).__name__.lower(), json_form.to_json(message, version)) for message, version in ours.records
    ]
    assert len(segments) >= 5
    figures.report("Kafka's DumpLogSegments reads our metadata log", segments=len(segments), records=len(records))


def test_the_indexes_of_our_log_are_sound(ours: Ours) -> None:
    indexes = sorted([*ours.metadata.glob("*.index"), *ours.metadata.glob("*.timeindex")])
    names = ",".join(map(str, indexes))
    said = kafka_tools.dump_log_segments("--index-sanity-check", "--files", names)
    assert said.count("passed sanity check.") == len(indexes)
    said = kafka_tools.dump_log_segments("--files", names)
    assert complaints(said) == []
    assert len(re.findall(r"^offset: \d+ position: \d+$", said, re.MULTILINE)) > len(indexes) // 2


def test_dump_log_segments_decodes_our_snapshots(ours: Ours) -> None:
    """That of the formatting, and the one of the log."""
    bootstrap = ours.metadata / "00000000000000000000-0000000000.checkpoint"
    shown = kafka_shows([bootstrap, ours.snapshot])
    for name in (bootstrap.name, ours.snapshot.name):
        kinds = [record.kind for record in shown[name]]
        assert kinds[:3] == ["snapshotheader", "kraftversion", "kraftvoters"]
        assert kinds[-1] == "snapshotfooter"
    header, version, voters, *records, _ = shown[ours.snapshot.name]
    assert header.data["lastContainedLogTimestamp"] == WALL_MS
    assert version.data["kRaftVersion"] == 1
    assert voters.data == json_form.to_json(VOTERS.to_record(), 0)
    assert [record.data for record in records] == [
        json_form.to_json(message, version) for message, version in ours.image.records()
    ]


def test_the_metadata_shell_opens_our_snapshot(ours: Ours) -> None:
    topics = sorted(ours.image.topics.by_name)
    assert topics

    def shows_topics(shown: str) -> bool:
        return [line for line in shown.splitlines() if line in topics] == topics

    kafka_tools.metadata_shell(ours.snapshot, "ls /image/topics/byName", shows_topics)


def test_storage_tool_knows_our_directory_with_a_log_in_it(ours: Ours) -> None:
    said = kafka_tools.run("kafka.tools.StorageTool", "info", "-c", str(ours.config))
    assert "Found log directories:" in said and f"cluster.id={CLUSTER_ID}" in said and "problem" not in said


# -- theirs, under ours


def test_log_dump_decodes_kafkas_log_as_kafka_does(clean_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = clean_data / METADATA
    files = [*directory.glob("*.log"), *sorted(directory.glob("*.checkpoint"))]
    theirs = kafka_shows(files)
    for path in files:
        assert run(["log", "dump", "--format", "json", "--decode", "--control", str(path)]) == 0
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        shown = [Decoded(at["offset"], plain(at["decoded"]["type"]), at["decoded"]["data"]) for at in lines]
        assert shown == theirs[path.name], path
    figures.report(
        "odradek log dump and DumpLogSegments agree", files=len(files), records=sum(map(len, theirs.values()))
    )


def test_storage_info_knows_kafkas_directory(
    clean_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path / "config", tmp_path)
    config.write_text(config.read_text().replace(f"{tmp_path}/one,{tmp_path}/two", str(clean_data)))
    assert run(["storage", "info", "-c", str(config)]) == 0
    said = capsys.readouterr().out
    assert str(clean_data) in said and "bSXPc0xJod0nPk2Pq19b2w" in said and "KwYwOWzccvs2_rOX9XvTDQ" in said


# -- there and back


@pytest.mark.slow
def test_kafka_goes_on_with_a_log_that_we_went_on_with(clean_data: Path, tmp_path: Path) -> None:
    """Kafka's log, then a topic by us, a snapshot by us, no log before it and some behind it; then Kafka on it, and
    us again."""
    topic_id = bytes(range(16))
    log = open_log(clean_data, segment_bytes=11_800)  # full by now: the next batch begins a segment
    epoch, directories = log.last_epoch, list(image_in(log).cluster.brokers[1].directories)
    partition = PartitionRecord(
        topic_id=topic_id, partition_id=0, replicas=[1], isr=[1], leader=1, directories=directories
    )
    topic = [latest(TopicRecord(name="of-ours", topic_id=topic_id)), MetadataRecord(partition, 1)]
    log.append_as_leader(data_batch(log.end_offset, epoch, *map(encode_record, topic)), epoch)
    log.update_high_watermark(log.end_offset)
    snapshot_id = write_snapshot(log, image_in(log), kraft_version=0, wall_ms=SystemClock().wall_ms())
    assert log.delete_before_snapshot(snapshot_id)
    setting = ConfigRecord(
        resource_type=ConfigResourceType.TOPIC, resource_name="of-ours", name="retention.ms", value="123456"
    )
    log.append_as_leader(data_batch(log.end_offset, epoch, encode_record(latest(setting))), epoch)
    log.close()
    assert not (clean_data / METADATA / "00000000000000000000.log").exists()
    with kafka_node(clean_data, tmp_path / "node") as node:
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        assert {"of-ours", "plain", "compacted", "txn"} <= set(admin.list_topics(timeout=60).topics)
        resource = ConfigResource(ConfigResource.Type.TOPIC, "of-ours")
        assert admin.describe_configs([resource])[resource].result(60)["retention.ms"].value == "123456"
        producer = Producer({"bootstrap.servers": node.bootstrap, "acks": "all", "log_level": 0})
        producer.produce("of-ours", b"written by a client of Kafka")
        assert producer.flush(60) == 0
        node.stop()
    again = open_log(clean_data)
    image = image_in(again)
    assert again.repairs == () and again.start_offset == snapshot_id.offset and again.last_epoch > epoch
    assert image.topics.by_name["of-ours"].id == topic_id
    assert f"topic_id: {uuid_to_text(topic_id)}" in (clean_data / "of-ours-0" / "partition.metadata").read_text()
    again.close()
