"""Apache Kafka's own metadata log and snapshots, replayed: the image that Kafka had."""

from pathlib import Path

import pytest

from odradek.common.ids import uuid_from_text, uuid_to_text
from odradek.metadata.features.metadata_version import MetadataVersion
from odradek.metadata.image.configs import ConfigResource
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.publishing.loader import MetadataBatch, MetadataLoader
from odradek.metadata.records.record_serde import encode_record
from odradek.protocol.config_types import ConfigResourceType
from support import vectors
from support.builders.metadata import read_metadata_log, records_of, replayed, snapshot_bytes, snapshot_provenance

PARTITIONS = {
    "__consumer_offsets": 2,
    "__transaction_state": 2,
    "append-time": 1,
    "compacted": 1,
    "gzip": 1,
    "lz4": 1,
    "plain": 2,
    "small-segments": 1,
    "snappy": 1,
    "txn": 1,
    "zstd": 1,
}


@pytest.fixture(scope="module")
def clean_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return vectors.unpack(vectors.CLEAN, tmp_path_factory.mktemp("clean"))


@pytest.fixture(scope="module")
def unclean_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return vectors.unpack(vectors.UNCLEAN, tmp_path_factory.mktemp("unclean"))


def log_batches(data: Path) -> list[MetadataBatch]:
    return list(read_metadata_log(data / "__cluster_metadata-0" / "00000000000000000000.log"))


def loaded(batches: list[MetadataBatch]) -> MetadataImage:
    loader = MetadataLoader()
    loader.load_batches(batches, high_watermark=None)
    return loader.image


def snapshot_image(path: Path) -> MetadataImage:
    loader = MetadataLoader()
    loader.load_snapshot(snapshot_provenance(path), records_of(read_metadata_log(path)), None)
    return loader.image


def snapshots(data: Path) -> list[Path]:
    found = sorted((data / "__cluster_metadata-0").glob("*.checkpoint"))
    assert len(found) == 4
    return found


def test_topics_and_partitions(unclean_data: Path) -> None:
    image = loaded(log_batches(unclean_data))
    assert {name: len(topic.partitions) for name, topic in image.topics.by_name.items()} == PARTITIONS
    assert set(image.topics.by_id) == {topic.id for topic in image.topics.by_name.values()}
    for topic in image.topics.by_name.values():
        for partition in topic.partitions.values():
            assert partition.replicas == partition.isr == (1,)
            assert partition.leader == 1 and not partition.elr


def test_a_clean_stop_leaves_every_partition_to_its_eligible_leader(clean_data: Path) -> None:
    """KIP-966: the last of the ISR leaves it at controlled shutdown and stays eligible."""
    image = loaded(log_batches(clean_data))
    for topic in image.topics.by_name.values():
        for partition in topic.partitions.values():
            assert (partition.leader, partition.isr, partition.elr) == (-1, (), (1,))


def test_topic_ids_are_those_of_the_directories(clean_data: Path) -> None:
    image = loaded(log_batches(clean_data))
    for name, topic in image.topics.by_name.items():
        for partition_id in topic.partitions:
            text = (clean_data / f"{name}-{partition_id}" / "partition.metadata").read_text()
            assert f"topic_id: {uuid_to_text(topic.id)}" in text


def test_directories_are_those_of_meta_properties(clean_data: Path) -> None:
    properties = dict(
        line.split("=", 1) for line in (clean_data / "meta.properties").read_text().splitlines() if "=" in line
    )
    directory = uuid_from_text(properties["directory.id"])
    image = loaded(log_batches(clean_data))
    assert image.cluster.brokers[1].directories == (directory,)
    for topic in image.topics.by_name.values():
        assert all(partition.directories == (directory,) for partition in topic.partitions.values())


def test_features_configs_and_the_rest(clean_data: Path) -> None:
    image = loaded(log_batches(clean_data))
    assert image.features.metadata_version is MetadataVersion.IBP_4_3_IV0
    assert dict(image.features.finalized_levels.items()) == {
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "share.version": 1,
        "streams.version": 1,
        "transaction.version": 2,
    }
    compacted = image.configs.settings(ConfigResource(ConfigResourceType.TOPIC, "compacted"))
    assert compacted == {
        "cleanup.policy": "compact",
        "max.compaction.lag.ms": "1000",
        "min.cleanable.dirty.ratio": "0.01",
        "segment.ms": "1000",
    }
    assert image.configs.settings(ConfigResource(ConfigResourceType.BROKER, "")) == {"min.insync.replicas": "1"}
    assert image.producer_ids.next_producer_id == 1000
    broker = image.cluster.brokers[1]
    assert list(broker.listeners) == ["PLAINTEXT"]
    assert broker.epoch == 95 and broker.in_controlled_shutdown and broker.fenced
    assert list(image.cluster.controllers) == [1]


def test_a_snapshot_is_the_log_up_to_its_offset(clean_data: Path) -> None:
    batches = log_batches(clean_data)
    for path in snapshots(clean_data):
        end = snapshot_provenance(path).last_contained_offset
        prefix = loaded([batch for batch in batches if batch.last_offset <= end])
        assert prefix.offset == end
        assert snapshot_image(path).same_content(prefix)


def test_a_snapshot_and_what_follows_is_the_whole_log(clean_data: Path) -> None:
    batches = log_batches(clean_data)
    whole = loaded(batches)
    for path in snapshots(clean_data):
        loader = MetadataLoader()
        provenance = snapshot_provenance(path)
        loader.load_snapshot(provenance, records_of(read_metadata_log(path)), None)
        later = [batch for batch in batches if batch.base_offset > provenance.last_contained_offset]
        loader.load_batches(later, None)
        assert loader.image == whole


def test_a_later_snapshot_replaces_an_earlier_image(clean_data: Path) -> None:
    first, *_, last = snapshots(clean_data)
    loader = MetadataLoader()
    for path in (last, first):
        loader.load_snapshot(snapshot_provenance(path), records_of(read_metadata_log(path)), None)
    assert loader.image == snapshot_image(first)


def test_an_image_says_the_records_that_kafka_wrote(clean_data: Path) -> None:
    """The same records byte for byte; only the order within a part is Kafka's hash order there and sorted here."""
    for path in snapshots(clean_data):
        theirs = [encode_record(record) for record in records_of(read_metadata_log(path))]
        ours = [encode_record(record) for record in snapshot_image(path).records()]
        assert len(ours) == len(theirs)
        assert [data[:3] for data in ours if data[1] not in (2, 3)] == [
            data[:3] for data in theirs if data[1] not in (2, 3)
        ]
        assert sorted(map(normal, ours)) == sorted(map(normal, theirs))


def normal(data: bytes) -> bytes:
    """Features inside a registration come in any order too."""
    return bytes(sorted(data)) if data[1] in (0, 27) else data


@pytest.mark.parametrize("state", ["clean_data", "unclean_data"])
def test_an_image_written_and_read_again_is_the_same(state: str, request: pytest.FixtureRequest) -> None:
    image = loaded(log_batches(request.getfixturevalue(state)))
    again = replayed(record.message for record in image.records())
    assert image.same_content(again)


def test_a_snapshot_file_of_ours_reads_as_theirs(clean_data: Path, tmp_path: Path) -> None:
    path = snapshots(clean_data)[-1]
    ours = tmp_path / path.name
    ours.write_bytes(snapshot_bytes(snapshot_image(path).records(), timestamp=1, epoch=2))
    assert snapshot_image(ours) == snapshot_image(path)
