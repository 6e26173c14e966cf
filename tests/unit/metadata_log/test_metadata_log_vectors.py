"""Apache Kafka's `__cluster_metadata`, opened as our own: its batches, its snapshots, and the image that Kafka had."""

from pathlib import Path

import pytest

from odradek.common.files import OsFileSystem
from odradek.common.system_clock import SystemClock
from odradek.metadata.publishing.loader import MetadataLoader
from odradek.metadata_log.metadata_log import MetadataLog, MetadataLogConfig
from odradek.metadata_log.opening import open_metadata_log
from odradek.raft.values import OffsetAndEpoch
from odradek.records.batch import read_batches
from support import vectors
from support.builders.metadata import image_in, read_metadata_log
from support.builders.raft_logs import content

SEGMENT = "__cluster_metadata-0/00000000000000000000.log"


def open_log(data: Path) -> MetadataLog:
    return open_metadata_log(OsFileSystem(), SystemClock(), str(data), MetadataLogConfig())


def snapshot_ids(data: Path) -> dict[OffsetAndEpoch, Path]:
    files = sorted((data / "__cluster_metadata-0").glob("*.checkpoint"))
    return {OffsetAndEpoch(int(path.name[21:31]), int(path.name[:20])): path for path in files}


@pytest.mark.parametrize("state", ["clean_data", "unclean_data"])
def test_it_is_read_as_it_is(state: str, request: pytest.FixtureRequest) -> None:
    data: Path = request.getfixturevalue(state)
    batches, snapshots = list(read_batches((data / SEGMENT).read_bytes())), snapshot_ids(data)
    log = open_log(data)
    assert log.repairs == ()
    assert (log.start_offset, log.end_offset) == (0, batches[-1].next_offset)
    assert (log.last_epoch, log.end_offset_for_epoch(1).offset) == (2, 92)
    assert list(content(log).values()) == [bytes(batch.buffer) for batch in batches]
    assert (log.earliest_snapshot_id, log.latest_snapshot_id) == (min(snapshots), max(snapshots))
    for snapshot_id, path in snapshots.items():
        size_bytes = log.snapshot_size_bytes(snapshot_id)
        assert size_bytes is not None
        assert bytes(log.read_snapshot(snapshot_id, 0, size_bytes)) == path.read_bytes()
    log.close()


def test_it_is_the_image_that_kafka_had_from_whichever_snapshot_it_starts(clean_data: Path) -> None:
    loader = MetadataLoader()
    loader.load_batches(list(read_metadata_log(clean_data / SEGMENT)), high_watermark=None)
    assert image_in(open_log(clean_data)) == loader.image
    for snapshot_id in sorted(snapshot_ids(clean_data)):
        log = open_log(clean_data)
        log.update_high_watermark(log.end_offset)
        assert log.delete_before_snapshot(snapshot_id)
        assert image_in(log) == loader.image
        log.close()
        again = open_log(clean_data)
        assert (again.start_offset, again.earliest_snapshot_id) == (snapshot_id.offset, snapshot_id)
        assert image_in(again) == loader.image
        again.close()


def test_the_image_knows_every_partition_that_clients_read_from(clean_data: Path) -> None:
    image = image_in(open_log(clean_data))
    for record in vectors.expected_records():
        partition = image.topics.by_name[record.topic].partitions[record.partition]
        assert record.leader_epoch <= partition.leader_epoch
    on_disk = {path.parent.name for path in clean_data.glob("*/partition.metadata")} - {"__cluster_metadata-0"}
    assert on_disk == {
        f"{name}-{partition_id}" for name, topic in image.topics.by_name.items() for partition_id in topic.partitions
    }


def test_a_copy_of_its_batches_is_the_same_file(clean_data: Path, tmp_path: Path) -> None:
    """What a follower of ours fetches from a leader of theirs."""
    theirs = clean_data / "__cluster_metadata-0"
    ours = tmp_path / "copy" / "__cluster_metadata-0"
    ours.parent.mkdir()
    log = open_log(ours.parent)
    log.append_as_follower((clean_data / SEGMENT).read_bytes(), 2)
    log.close()
    for name in ("00000000000000000000.log", "leader-epoch-checkpoint", "partition.metadata"):
        assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name


def test_snapshots_that_came_without_the_log_are_enough(clean_data: Path) -> None:
    """As a follower that was stopped when it had just fetched one."""
    directory = clean_data / "__cluster_metadata-0"
    latest = max(snapshot_ids(clean_data))
    for path in [*directory.glob("*.log"), *directory.glob("*index"), directory / "leader-epoch-checkpoint"]:
        path.unlink()
    log = open_log(clean_data)
    assert (log.start_offset, log.end_offset, log.last_epoch) == (latest.offset, latest.offset, latest.epoch)
    assert image_in(log).offset == latest.offset - 1
    log.close()
    assert list(snapshot_ids(clean_data)) == [latest]
