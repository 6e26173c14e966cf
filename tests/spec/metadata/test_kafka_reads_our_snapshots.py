"""Apache Kafka's tools on snapshots that we wrote: it reads every record, and makes the image of them that we had."""

import json
import re
from pathlib import Path
from random import Random

import pytest

from odradek.common.ids import uuid_to_text
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.image.partition_registration import LeaderRecoveryState, PartitionRegistration
from odradek.protocol import json_form
from support.builders.metadata import replayed, snapshot_bytes
from support.builders.metadata_records import RecordMaker, first_records
from support.peers.kafka_tools import dump_log_segments, metadata_shell


@pytest.fixture(scope="module")
def image() -> MetadataImage:
    maker, made = RecordMaker(Random(7)), replayed(first_records())
    for _ in range(1500):
        made = replayed([maker.next_record(made)], made)
    return made


@pytest.fixture
def snapshot(image: MetadataImage, tmp_path: Path) -> Path:
    path = tmp_path / "00000000000000001502-0000000003.checkpoint"
    path.write_bytes(snapshot_bytes(image.records(), timestamp=1_794_778_232_670, epoch=3))
    return path


@pytest.mark.peer
def test_dump_log_segments_decodes_every_record(image: MetadataImage, snapshot: Path) -> None:
    records = list(image.records())
    lines = dump_log_segments("--cluster-metadata-decoder", "--files", str(snapshot)).splitlines()
    payloads = [json.loads(line.split("payload: ", 1)[1]) for line in lines if "payload: " in line]
    assert len(payloads) == len(records) > 30
    for (message, version), said in zip(records, payloads, strict=True):
        assert said["version"] == version
        assert said["data"] == json_form.to_json(message, version)
    assert len({said["type"] for said in payloads}) >= 11
    assert any("SnapshotHeader" in line for line in lines) and any("SnapshotFooter" in line for line in lines)


@pytest.mark.peer
def test_the_metadata_shell_shows_our_image(image: MetadataImage, snapshot: Path) -> None:
    shown = metadata_shell(snapshot, "tree image", lambda shown: "Optional[4.3-IV0]" in shown)
    registrations = re.findall(r"PartitionRegistration\(.*\)", shown)
    ours = [
        _as_kafka_prints(partition)
        for _, topic in sorted(image.topics.by_name.items())
        for _, partition in sorted(topic.partitions.items())
    ]
    # The tree has every partition twice: below the name and below the id of its topic.
    assert sorted(registrations) == sorted(ours * 2) and ours
    for topic in image.topics.by_name.values():
        assert uuid_to_text(topic.id) in shown
    for name, level in image.features.finalized_levels.items():
        assert re.search(rf"finalized_{re.escape(name)}:\s+{level}\n", shown)
    for broker in image.cluster.brokers.values():
        assert f"BrokerRegistration(id={broker.id}, epoch={broker.epoch}," in shown


def _as_kafka_prints(partition: PartitionRegistration) -> str:
    def ids(values: tuple[int, ...]) -> str:
        return "[" + ", ".join(map(str, values)) + "]"

    directories = ", ".join(uuid_to_text(directory) for directory in partition.directories)
    return (
        f"PartitionRegistration(replicas={ids(partition.replicas)}, directories=[{directories}], "
        f"isr={ids(partition.isr)}, removingReplicas={ids(partition.removing_replicas)}, "
        f"addingReplicas={ids(partition.adding_replicas)}, elr={ids(partition.elr)}, "
        f"lastKnownElr={ids(partition.last_known_elr)}, leader={partition.leader}, "
        f"leaderRecoveryState={LeaderRecoveryState(partition.leader_recovery_state).name}, "
        f"leaderEpoch={partition.leader_epoch}, partitionEpoch={partition.partition_epoch})"
    )
