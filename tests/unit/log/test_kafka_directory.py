"""The parts of a log directory against what Apache Kafka wrote: read, rebuilt and written again, byte for byte."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from odradek.common.ids import TopicPartition
from odradek.log.errors import DamagedFile
from odradek.log.file_names import parse_partition_dir, parse_segment_file
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.manager import checkpoint_files
from odradek.log.manager.meta_properties import encode_meta_properties, read_meta_properties
from odradek.log.offsets import AppendOrigin
from odradek.log.producers.producer_state import ProducerState
from odradek.log.producers.snapshot_format import encode_snapshot, read_snapshot
from odradek.log.recovery.segment_recovery import recover_segment
from odradek.log.segments.index_file import IndexFile
from odradek.log.segments.offset_index import OffsetIndex
from odradek.log.segments.segment import Segment
from odradek.log.segments.time_index import TimeIndex
from odradek.log.segments.transaction_index import TxnIndex
from odradek.records.batch import Batch
from support import vectors
from support.builders.segments import FILES, append, batches_of

INDEXES: dict[str, type[IndexFile]] = {".index": OffsetIndex, ".timeindex": TimeIndex, ".txnindex": TxnIndex}

#: The data directory is of a node that ran twice: this epoch is the second run's.
SECOND_RUN_EPOCH = 2


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return vectors.unpack(vectors.CLEAN, tmp_path_factory.mktemp("clean"))


@pytest.fixture(scope="module")
def running_kafka(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return vectors.unpack(vectors.UNCLEAN, tmp_path_factory.mktemp("unclean"))


def partition_dirs(data: Path) -> list[Path]:
    return sorted(path for path in data.iterdir() if path.is_dir())


def segment_logs(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.log"))


def base_offset(path: Path) -> int:
    parsed = parse_segment_file(path.name)
    assert parsed is not None
    return parsed.base_offset


def test_every_name_in_the_directory_is_known(kafka: Path) -> None:
    for directory in partition_dirs(kafka):
        assert parse_partition_dir(directory.name) is not None
        others = [p.name for p in directory.iterdir() if parse_segment_file(p.name) is None]
        known = r"leader-epoch-checkpoint|partition\.metadata|quorum-state|[0-9]{20}-[0-9]{10}\.checkpoint"
        assert all(re.fullmatch(known, name) for name in others), others


def test_every_index_reads_and_is_written_again_the_same(kafka: Path, tmp_path: Path) -> None:
    seen = 0
    for path in sorted(kafka.glob("*/*index*")):
        parsed = parse_segment_file(path.name)
        assert parsed is not None
        kind = INDEXES[parsed.kind]
        index = kind(FILES, str(path), parsed.base_offset, 1 << 20)
        index.sanity_check()
        again = kind(FILES, str(tmp_path / f"{seen}{path.name}"), parsed.base_offset, 1 << 20)
        again.create()
        for slot in range(index.entry_count):
            copy_entry(index, again, slot)
        again.close()
        assert Path(again.path).read_bytes() == path.read_bytes(), path
        seen += index.entry_count > 0
    assert seen > 20


def copy_entry(index: IndexFile, again: IndexFile, slot: int) -> None:
    if isinstance(index, OffsetIndex) and isinstance(again, OffsetIndex):
        again.append(*index.entry(slot))
    elif isinstance(index, TimeIndex) and isinstance(again, TimeIndex):
        again.maybe_append(*index.entry(slot))
    elif isinstance(index, TxnIndex) and isinstance(again, TxnIndex):
        again.append(index.entry(slot))


def test_indexes_of_a_segment_agree_with_it(kafka: Path) -> None:
    for directory in partition_dirs(kafka):
        for log in segment_logs(directory):
            segment = Segment(FILES, str(directory), base_offset(log), now_ms=0)
            segment.sanity_check()
            segment.offset_index.check_entries(segment.size)
            segment.time_index.check_entries()
            positions = {}
            position = 0
            largest = -1
            for batch in batches_of(log):
                positions[batch.last_offset] = position
                position += batch.size_bytes
                largest = max(largest, batch.max_timestamp)
            for slot in range(segment.offset_index.entry_count):
                entry = segment.offset_index.entry(slot)
                assert positions[entry.offset] == entry.position
            assert segment.max_timestamp_so_far == largest
            segment.close_handlers()


def test_appending_the_same_batches_gives_the_same_indexes(kafka: Path, tmp_path: Path) -> None:
    """Also across Kafka's restart, which counts the bytes since the last entry anew."""
    for directory in partition_dirs(kafka):
        if directory.name.startswith("__cluster_metadata"):
            continue  # its second run appended under the same epoch more than once: the restart cannot be told
        target = tmp_path / directory.name
        target.mkdir()
        producers = ProducerState(FILES, TopicPartition("t", 0), str(target))
        for log in segment_logs(directory):
            segment = Segment(FILES, str(target), base_offset(log), now_ms=0, create=True)
            runs = split_by_run(log)
            for number, run in enumerate(runs):
                for batch in run:
                    append(segment, batch)
                    if batch.has_producer_id:
                        decided = producers.prepare_update(batch.producer_id, AppendOrigin.REPLICATION)
                        completed = decided.append(batch)
                        producers.update(decided)
                        if completed is not None:
                            segment.update_txn_index(completed, producers.last_stable_offset(completed))
                            producers.complete_txn(completed)
                segment.close()
                if number + 1 < len(runs):
                    segment = Segment(FILES, str(target), base_offset(log), now_ms=0)
            for kind in (".log", ".index", ".timeindex", ".txnindex"):
                name = log.name.replace(".log", kind)
                ours, theirs = target / name, directory / name
                assert ours.exists() == theirs.exists(), theirs
                if ours.exists():
                    assert ours.read_bytes() == theirs.read_bytes(), theirs


def split_by_run(log: Path) -> list[list[Batch]]:
    batches = list(batches_of(log))
    first = [batch for batch in batches if batch.leader_epoch < SECOND_RUN_EPOCH]
    second = batches[len(first) :]
    return [run for run in (first, second) if run]


def test_recovery_of_a_segment_of_one_run_rebuilds_its_indexes(kafka: Path, tmp_path: Path) -> None:
    for name in ("small-segments-0", "txn-0"):
        for log in segment_logs(kafka / name):
            if any(batch.leader_epoch == SECOND_RUN_EPOCH for batch in batches_of(log)):
                continue
            target = tmp_path / name / log.stem
            target.mkdir(parents=True)
            (target / log.name).write_bytes(log.read_bytes())
            segment = Segment(FILES, str(target), base_offset(log), now_ms=0)
            recovery = recover_segment(segment, None, None)
            segment.close()
            assert recovery.damage is None
            assert recovery.valid_bytes == log.stat().st_size
            for kind in (".index", ".timeindex"):
                name_of_index = log.name.replace(".log", kind)
                assert (target / name_of_index).read_bytes() == (log.parent / name_of_index).read_bytes()


def test_recovery_finds_the_aborted_transactions_epochs_and_producers(kafka: Path, tmp_path: Path) -> None:
    source = kafka / "txn-0"
    for log in segment_logs(source):
        (tmp_path / log.name).write_bytes(log.read_bytes())
    producers = ProducerState(FILES, TopicPartition("txn", 0), str(tmp_path))
    epochs = LeaderEpochs(FILES, str(tmp_path))
    for log in segment_logs(source):
        segment = Segment(FILES, str(tmp_path), base_offset(log), now_ms=0)
        recover_segment(segment, producers, epochs)
        producers.take_snapshot()
        segment.close()
    assert (tmp_path / "00000000000000000007.txnindex").read_bytes() == (
        source / "00000000000000000007.txnindex"
    ).read_bytes()
    assert (tmp_path / "leader-epoch-checkpoint").read_bytes() == (source / "leader-epoch-checkpoint").read_bytes()
    for snapshot in ("00000000000000000007.snapshot", "00000000000000000063.snapshot"):
        assert (tmp_path / snapshot).read_bytes() == (source / snapshot).read_bytes()
    assert producers.first_undecided_offset() is None


def test_the_index_of_a_running_kafka_ends_before_its_zeros(running_kafka: Path, kafka: Path) -> None:
    """The node was in its second run: the stop before had added one entry of time."""
    directory = running_kafka / "small-segments-0"
    active = OffsetIndex(FILES, str(directory / "00000000000000000514.index"), 514)
    assert (directory / "00000000000000000514.index").stat().st_size == 10 * 1024 * 1024
    final = OffsetIndex(FILES, str(kafka / "small-segments-0" / "00000000000000000514.index"), 514)
    assert 0 < active.entry_count <= final.entry_count
    assert [active.entry(i) for i in range(active.entry_count)] == [final.entry(i) for i in range(active.entry_count)]
    time_index = TimeIndex(FILES, str(directory / "00000000000000000514.timeindex"), 514)
    assert time_index.entry_count == active.entry_count + 1
    time_index.check_entries()
    for path in sorted(running_kafka.glob("*/*.index")):
        empty_or_not = OffsetIndex(FILES, str(path), base_offset(path))
        assert empty_or_not.entry_count <= 200, path


def test_recovery_repairs_every_segment_of_a_running_kafka(running_kafka: Path, tmp_path: Path) -> None:
    for directory in partition_dirs(running_kafka):
        target = tmp_path / directory.name
        target.mkdir()
        for log in segment_logs(directory):
            for kind in (".log", ".index", ".timeindex"):
                path = log.with_suffix(kind)
                (target / path.name).write_bytes(path.read_bytes()[: 1 << 21])
            segment = Segment(FILES, str(target), base_offset(log), now_ms=0)
            recovery = recover_segment(segment, None, None)
            assert recovery.damage is None
            assert segment.read_next_offset() == recovery.next_offset
            segment.offset_index.check_entries(segment.size)
            segment.close()
            assert (target / log.name).with_suffix(".index").stat().st_size < 2000


def test_every_snapshot_is_written_again_the_same(kafka: Path) -> None:
    paths = sorted(kafka.glob("*/*.snapshot*"))
    assert len(paths) > 25
    for path in paths:
        assert encode_snapshot(read_snapshot(FILES, str(path))) == path.read_bytes()


def test_snapshots_of_the_first_run_agree_with_the_log(kafka: Path, tmp_path: Path) -> None:
    compared = 0
    for directory in partition_dirs(kafka):
        if directory.name.startswith(("__", "compacted")):
            continue  # these hold no producers, or no longer hold their batches
        producers = ProducerState(FILES, TopicPartition("t", 0), str(tmp_path / "none"))
        for log in segment_logs(directory):
            for batch in batches_of(log):
                snapshot = directory / f"{batch.base_offset:020d}.snapshot"
                if snapshot.exists():
                    ours = sorted(producers.producers.values(), key=lambda entry: entry.producer_id)
                    assert encode_snapshot(ours) == snapshot.read_bytes(), snapshot
                    compared += 1
                if batch.has_producer_id:
                    decided = producers.prepare_update(batch.producer_id, AppendOrigin.REPLICATION)
                    decided.append(batch)
                    producers.update(decided)
    assert compared >= 10


def test_a_restart_forgets_the_producers_that_kafka_forgot(kafka: Path) -> None:
    """Their batches are dated 2023 and the node ran later, so the snapshot of its second stop is empty."""
    directory = kafka / "gzip-0"
    now_ms = 1_794_778_239_000
    producers = ProducerState(FILES, TopicPartition("gzip", 0), str(directory))
    producers.snapshots.offsets.remove(135)
    producers.snapshots.delete_outside = lambda start, end: None  # type: ignore[method-assign]
    producers.truncate_and_reload(0, 120, now_ms)
    assert producers.map_end_offset == 120
    assert producers.is_empty


def test_checkpoints_are_written_again_the_same(kafka: Path, tmp_path: Path) -> None:
    for path in sorted(kafka.glob("*-checkpoint")):
        again = tmp_path / path.name
        checkpoint_files.write_offset_checkpoint(
            FILES, str(again), checkpoint_files.read_offset_checkpoint(FILES, str(path))
        )
        assert again.read_bytes() == path.read_bytes()
    assert (
        checkpoint_files.read_offset_checkpoint(FILES, str(kafka / "recovery-point-offset-checkpoint"))[
            TopicPartition("small-segments", 0)
        ]
        == 615
    )


def test_epochs_and_topic_ids_are_written_again_the_same(kafka: Path, tmp_path: Path) -> None:
    for directory in partition_dirs(kafka):
        target = tmp_path / directory.name
        target.mkdir()
        cache = LeaderEpochs(FILES, str(target))
        cache.assign_all(LeaderEpochs.load(FILES, str(directory)).entries())
        assert (target / "leader-epoch-checkpoint").read_bytes() == (directory / "leader-epoch-checkpoint").read_bytes()
        metadata = checkpoint_files.read_partition_metadata(FILES, str(directory))
        assert metadata is not None
        checkpoint_files.write_partition_metadata(FILES, str(target), metadata.topic_id)
        assert (target / "partition.metadata").read_bytes() == (directory / "partition.metadata").read_bytes()


def test_epochs_agree_with_the_batches(kafka: Path) -> None:
    for directory in partition_dirs(kafka):
        cache = LeaderEpochs.load(FILES, str(directory))
        for log in segment_logs(directory):
            for batch in batches_of(log):
                assert cache.epoch_for_offset(batch.base_offset) == batch.leader_epoch


def test_clean_shutdown_marker_is_written_again_the_same(kafka: Path, running_kafka: Path, tmp_path: Path) -> None:
    found = checkpoint_files.read_clean_shutdown(FILES, str(kafka))
    assert found == checkpoint_files.CleanShutdown(95)
    checkpoint_files.write_clean_shutdown(FILES, str(tmp_path), 95)
    assert (tmp_path / ".kafka_cleanshutdown").read_bytes() == (kafka / ".kafka_cleanshutdown").read_bytes()
    assert checkpoint_files.read_clean_shutdown(FILES, str(running_kafka)) is None


def test_meta_properties_are_written_again_the_same(kafka: Path) -> None:
    meta = read_meta_properties(FILES, str(kafka))
    assert meta is not None
    assert (meta.version, meta.node_id, meta.cluster_id) == (1, 1, "bSXPc0xJod0nPk2Pq19b2w")
    text = (kafka / "meta.properties").read_text()
    written = datetime.strptime(text.splitlines()[1], "#%a %b %d %H:%M:%S UTC %Y").replace(tzinfo=UTC)
    assert encode_meta_properties(meta, int(written.timestamp() * 1000)) == text.encode()


def test_nothing_that_kafka_wrote_is_called_damaged(kafka: Path) -> None:
    for directory in partition_dirs(kafka):
        for log in segment_logs(directory):
            segment = Segment(FILES, str(directory), base_offset(log), now_ms=0)
            try:
                assert segment.read_next_offset() >= segment.base_offset
                assert not segment.has_overflow()
            except DamagedFile as error:
                pytest.fail(str(error))
            finally:
                segment.close_handlers()
