"""Many logs in many directories: start, stop, create, delete, move, fail."""

import errno
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from odradek.common.failures import Fault, InputError
from odradek.common.files import OsFileSystem
from odradek.common.ids import TopicPartition
from odradek.common.ports import FileSystem
from odradek.log.errors import InconsistentTopicId, KafkaStorageError
from odradek.log.log_config import LogConfig
from odradek.log.manager import log_changes as changes
from odradek.log.manager import maintenance as jobs
from odradek.log.manager.checkpoint_files import (
    read_clean_shutdown,
    read_offset_checkpoint,
    read_partition_metadata,
    write_partition_metadata,
)
from odradek.log.manager.log_directories import OpenedDirs, open_log_dirs
from odradek.log.manager.log_manager import LogManager
from odradek.log.manager.settings import ManagerSettings
from odradek.log.manager.startup import broker_epoch_of_last_stop, load_jobs
from odradek.log.unified_log import UnifiedLog
from odradek.sim.world.disk import SimulatedDisk
from support.builders.cleaning import latest_values
from support.builders.logs import HandClock, batch, stored_records, stored_values
from support.vectors import expected_records

DIRS = ("/d1", "/d2", "/d3")
TOPIC_ID = b"t" * 16
DELAY_MS = LogConfig().file_delete_delay_ms


class NoLock:
    created = False
    path = ""

    def __init__(self) -> None:
        self.held = True

    def release(self) -> None:
        self.held = False


def uuids() -> Iterator[bytes]:
    number = 0
    while True:
        number += 1
        yield number.to_bytes(16, "big")


class Node:
    """A disk, a clock, and one manager after the other on them."""

    def __init__(self, files: FileSystem | None = None, dirs: tuple[str, ...] = DIRS) -> None:
        self.files = files or SimulatedDisk()
        self.clock = HandClock()
        self.dirs = dirs
        self.uuids = uuids()
        self.start()

    @property
    def disk(self) -> SimulatedDisk:
        assert isinstance(self.files, SimulatedDisk)
        return self.files

    def opened(self) -> OpenedDirs:
        return open_log_dirs(
            self.files,
            self.dirs,
            cluster_id=None if not isinstance(self.files, SimulatedDisk) else "cluster",
            node_id=1,
            new_directory_id=lambda: next(self.uuids),
            now_ms=self.clock.wall_ms(),
            lock=lambda _: NoLock(),
        )

    def start(self, *, load: bool = True, topic_configs: dict[str, LogConfig] | None = None) -> LogManager:
        self.manager = LogManager(
            self.files,
            self.clock,
            self.opened(),
            LogConfig(),
            topic_configs=topic_configs,
            settings=ManagerSettings(transaction_partition_verification_enable=False),
            new_uuid=lambda: next(self.uuids),
        )
        if load:
            self.manager.load_all()
        return self.manager

    def create(self, topic: str, partition: int = 0) -> UnifiedLog:
        return self.manager.get_or_create(TopicPartition(topic, partition), TOPIC_ID, is_new=True)

    def fill(self, log: UnifiedLog, *values: str, key: bytes | None = b"key") -> None:
        for value in values:
            log.appender.append_as_leader(bytearray(batch(value, key=key, timestamp=self.clock.now_ms)), 0)
        log.offsets.raise_high_watermark(log.offsets.log_end_offset)

    def restart(self) -> LogManager:
        self.manager.shutdown(broker_epoch=9)
        return self.start()

    def crash(self) -> LogManager:
        self.files = self.disk.crash("none")
        return self.start()


@pytest.fixture
def node() -> Node:
    return Node()


def tp(topic: str, partition: int = 0) -> TopicPartition:
    return TopicPartition(topic, partition)


def where(manager: LogManager) -> dict[str, str]:
    return {str(found): log.directory for found, log in manager.current.items()}


# -- start and stop


def test_logs_come_back_after_a_clean_stop(node: Node) -> None:
    for number in range(5):
        node.fill(node.create("topic", number), *(f"value {offset}" for offset in range(number)))
    before = where(node.manager)
    manager = node.restart()
    assert where(manager) == before
    assert all(manager.had_clean_shutdown.values())
    for number in range(5):
        log = manager.current[tp("topic", number)]
        assert (log.offsets.log_end_offset, log.offsets.high_watermark, log.offsets.recovery_point) == (
            number,
            number,
            number,
        )
        assert log.topic_id == TOPIC_ID
        assert len(stored_values(log)) == number


def test_the_marker_carries_the_broker_epoch_and_is_gone_once_loading_begins(node: Node) -> None:
    node.create("topic")
    node.manager.shutdown(broker_epoch=42)
    markers = [read_clean_shutdown(node.files, log_dir) for log_dir in DIRS]
    assert [marker.broker_epoch for marker in markers if marker is not None] == [42, 42, 42]
    manager = node.start(load=False)
    assert broker_epoch_of_last_stop(manager) == 42
    manager.load_all()
    assert [read_clean_shutdown(node.files, log_dir) for log_dir in DIRS] == [None, None, None]
    assert broker_epoch_of_last_stop(manager) is None


def test_a_crash_is_no_clean_stop(node: Node) -> None:
    log = node.create("topic")
    node.fill(log, "one", "two")
    log.flusher.flush()
    jobs.write_recovery_points(node.manager)
    node.fill(log, "never synced")
    manager = node.crash()
    assert not any(manager.had_clean_shutdown.values())
    assert stored_values(manager.current[tp("topic")]) == [b"one", b"two"]


def test_a_crash_while_loading_is_a_crash(node: Node) -> None:
    node.create("topic")
    node.manager.shutdown()
    manager = node.start(load=False)
    load_jobs(manager)
    manager = node.crash()
    assert not any(manager.had_clean_shutdown.values())


def test_loading_may_run_in_threads() -> None:
    node = Node(SimulatedDisk())
    for number in range(20):
        node.fill(node.create("topic", number), "value")
    node.manager.shutdown()
    manager = node.start(load=False)
    with ThreadPoolExecutor(4) as pool:
        manager.load_all(run=pool.map)
    assert len(manager.current) == 20
    with ThreadPoolExecutor(4) as pool:
        manager.shutdown(run=pool.map)
    assert all(node.start().had_clean_shutdown.values())


def test_kafkas_own_directory_loads_and_stops_cleanly(clean_data: Path) -> None:
    node = Node(OsFileSystem(), (str(clean_data),))
    expected: dict[TopicPartition, list[tuple[int, bytes | None, bytes | None]]] = {}
    for record in expected_records():
        found = expected.setdefault(tp(record.topic, record.partition), [])
        found.append((record.offset, record.key, record.value))
    for _ in range(2):
        manager = node.manager
        assert set(expected) <= set(manager.current)
        assert tp("__cluster_metadata") not in manager.current
        for partition, records in expected.items():
            log = manager.current[partition]
            assert [(r.offset, r.key, r.value) for r in stored_records(log)] == records
            assert log.offsets.high_watermark == log.offsets.log_end_offset
        assert manager.cleaner.checkpoint(tp("compacted")) == 120
        node.restart()


def test_a_foreign_directory_is_refused_before_anything_changes(node: Node) -> None:
    node.create("topic")
    node.manager.shutdown()
    node.files.make_dirs("/d3/photographs")
    before = len(node.disk.journal)
    with pytest.raises(InputError, match="/d3/photographs: a directory in a log directory must be a partition"):
        node.start()
    assert len(node.disk.journal) == before


def test_a_disk_in_whose_root_the_logs_live_is_fine(node: Node) -> None:
    node.files.make_dirs("/d1/lost+found")
    assert node.restart().current == {}


def test_a_partition_in_two_directories_is_refused_with_advice(node: Node) -> None:
    log = node.create("topic")
    other = next(path for path in DIRS if path != log.log_dir)
    node.manager.shutdown()
    node.files.make_dirs(f"{other}/topic-0")
    write_partition_metadata(node.files, f"{other}/topic-0", TOPIC_ID)
    with pytest.raises(InputError, match=r"topic-0 is in two log directories: /d1/topic-0 and /d2/topic-0"):
        node.start()


def copy_log(node: Node, source: str, target: str, topic_id: bytes) -> None:
    """Put a copy of a log, as of a topic with another id, into another directory."""
    node.files.make_dirs(target)
    for name in node.files.list_dir(source):
        file = node.files.open(f"{target}/{name}", create=True)
        file.append(node.files.read_file(f"{source}/{name}"))
        file.close()
    write_partition_metadata(node.files, target, topic_id)


@pytest.mark.parametrize("deleted_dir", ["/d1", "/d2"])
def test_the_log_of_a_deleted_topic_gives_way_to_the_new_topic_with_its_name(node: Node, deleted_dir: str) -> None:
    """Its directory was offline when the topic was deleted and created again."""
    node.fill(node.create("topic"), "value")
    node.manager.shutdown()
    copy_log(node, "/d1/topic-0", "/d2/topic-0", bytes(15) + b"2")
    manager = node.start(topic_configs={"topic": LogConfig(segment_bytes=12_345)})
    assert len(manager.current) == len(manager.duplicates) == 1
    stray = changes.settle_duplicates(manager, lambda log: log.directory.startswith(deleted_dir))
    (kept_dir,) = {"/d1", "/d2"} - {deleted_dir}
    log = manager.current[tp("topic")]
    assert log.directory == f"{kept_dir}/topic-0" and log.config.value.segment_bytes == 12_345
    assert stored_values(log) == [b"value"]
    assert stray == [manager.stray[tp("topic")]] and stray[0].log_dir == deleted_dir
    manager = node.restart()
    assert manager.current[tp("topic")].directory == f"{kept_dir}/topic-0" and not manager.duplicates
    assert manager.stray[tp("topic")].log_dir == deleted_dir


# -- creating


def test_a_new_log_goes_where_the_fewest_are(node: Node) -> None:
    for number in range(7):
        node.create("topic", number)
    assert [log.log_dir for log in node.manager.current.values()] == ["/d1", "/d2", "/d3", "/d1", "/d2", "/d3", "/d1"]
    metadata = read_partition_metadata(node.files, "/d2/topic-1")
    assert metadata is not None
    assert metadata.topic_id == TOPIC_ID


def test_a_log_is_made_in_the_directory_that_was_asked_for(node: Node) -> None:
    third = node.manager.directory_id("/d3")
    log = node.manager.get_or_create(tp("topic"), TOPIC_ID, is_new=True, directory_id=third)
    assert log.log_dir == "/d3"
    assert node.manager.directory_path(third or b"") == "/d3"
    node.manager.prefer_dir(tp("other"), "/d2")
    assert node.create("other").log_dir == "/d2"


def test_an_existing_log_is_handed_out_unless_it_is_another_topics(node: Node) -> None:
    log = node.create("topic")
    assert node.create("topic") is log
    with pytest.raises(InconsistentTopicId):
        node.manager.get_or_create(tp("topic"), b"x" * 16)


# -- deleting and moving


def test_a_deleted_log_is_renamed_at_once_and_removed_later(node: Node) -> None:
    node.fill(node.create("topic"), "value")
    node.create("other")
    jobs.write_recovery_points(node.manager)
    changes.delete_log(node.manager, tp("topic"))
    assert tp("topic") not in node.manager.current
    (name,) = [name for name in node.files.list_dir("/d1") if name.endswith("-delete")]
    assert name.startswith("topic-0.")
    assert read_offset_checkpoint(node.files, "/d1/recovery-point-offset-checkpoint") == {}
    node.clock.now_ms += DELAY_MS - 1
    jobs.run_removals(node.manager)
    assert name in node.files.list_dir("/d1")
    node.clock.now_ms += 1
    jobs.run_removals(node.manager)
    assert name not in node.files.list_dir("/d1")
    assert node.create("topic").offsets.log_end_offset == 0


def test_a_deletion_goes_on_after_a_restart(node: Node) -> None:
    node.fill(node.create("topic"), "value")
    changes.delete_logs(node.manager, [tp("topic"), tp("unknown")])
    changes.settle_deletions(node.manager)
    manager = node.crash()
    assert manager.current == {}
    assert len(manager.removals) == 1
    node.clock.now_ms += DELAY_MS
    jobs.run_removals(manager)
    assert not [name for name in node.files.list_dir("/d1") if node.files.is_dir(f"/d1/{name}")]


def test_a_stray_log_is_set_aside_and_kept(node: Node) -> None:
    node.fill(node.create("topic"), "value")
    changes.delete_log(node.manager, tp("topic"), is_stray=True)
    node.clock.now_ms += 10 * DELAY_MS
    jobs.run_removals(node.manager)
    manager = node.restart()
    assert stored_values(manager.stray[tp("topic")]) == [b"value"]
    assert manager.current == {}


def test_logs_that_are_no_longer_ours_become_stray_at_the_start(node: Node) -> None:
    node.create("mine")
    node.create("theirs")
    node.manager.shutdown()
    manager = node.start(load=False)
    manager.load_all(is_stray=lambda log: log.topic_partition.topic == "theirs")
    assert list(manager.current) == [tp("mine")]
    assert [name.endswith("-stray") for name in node.files.list_dir("/d2") if name.startswith("theirs")] == [True]


def test_a_replica_moves_to_another_directory(node: Node) -> None:
    source = node.create("topic")
    node.fill(source, "one", "two")
    node.manager.prefer_dir(tp("topic"), "/d3")
    future = node.manager.get_or_create(tp("topic"), TOPIC_ID, is_future=True)
    assert future.directory.startswith("/d3/topic-0.")
    assert future.is_future
    future.appender.append_as_follower(bytearray(source.reader.fetch(source.reader.read(0, 1000))), 0)
    node.manager.cleaner.set_checkpoint("/d1", tp("topic"), 1)
    changes.replace_current_with_future(node.manager, tp("topic"))
    log = node.manager.current[tp("topic")]
    assert (log.directory, log.offsets.high_watermark) == ("/d3/topic-0", 2)
    assert node.manager.future == {}
    assert node.manager.cleaner.checkpoint(tp("topic")) == 1
    manager = node.restart()
    assert where(manager) == {"topic-0": "/d3/topic-0"}
    assert stored_values(manager.current[tp("topic")]) == [b"one", b"two"]


def test_a_future_log_survives_a_restart(node: Node) -> None:
    node.create("topic")
    node.manager.prefer_dir(tp("topic"), "/d2")
    node.manager.get_or_create(tp("topic"), TOPIC_ID, is_future=True)
    manager = node.restart()
    assert manager.future[tp("topic")].log_dir == "/d2"
    assert manager.current[tp("topic")].log_dir == "/d1"


def test_truncation_is_written_down_at_once(node: Node) -> None:
    log = node.create("topic")
    node.fill(log, "one", "two", "three")
    log.flusher.flush()
    jobs.write_recovery_points(node.manager)
    changes.truncate_to(node.manager, {tp("topic"): 1, tp("unknown"): 0})
    assert log.offsets.log_end_offset == 1
    assert read_offset_checkpoint(node.files, "/d1/recovery-point-offset-checkpoint") == {tp("topic"): 1}
    changes.truncate_fully_and_start_at(node.manager, tp("topic"), 50)
    assert (log.offsets.log_start_offset, log.offsets.log_end_offset) == (50, 50)


# -- configuration


def test_configurations_change_at_run_time(node: Node) -> None:
    log, other = node.create("topic"), node.create("other")
    changes.update_topic_config(node.manager, "topic", LogConfig(retention_ms=5, cleanup_policy=("compact",)))
    assert (log.config.value.retention_ms, other.config.value.retention_ms) == (5, LogConfig().retention_ms)
    changes.update_default_config(node.manager, LogConfig(retention_ms=7))
    assert (log.config.value.retention_ms, other.config.value.retention_ms) == (5, 7)
    changes.update_topic_config(node.manager, "topic", None)
    assert log.config.value.retention_ms == 7
    assert node.create("later").config.value.retention_ms == 7


# -- jobs


def test_retention_drops_old_segments_and_their_files_later(node: Node) -> None:
    log = node.create("topic")
    node.fill(log, "old")
    log.roller.roll()
    node.clock.now_ms += LogConfig().retention_ms + 1
    node.fill(log, "new")
    jobs.run_retention(node.manager)
    assert stored_values(log) == [b"new"]
    jobs.write_log_starts(node.manager)
    jobs.run_removals(node.manager)
    assert "00000000000000000000.log.deleted" in node.files.list_dir(log.directory)
    node.clock.now_ms += DELAY_MS
    jobs.run_removals(node.manager)
    assert "00000000000000000000.log.deleted" not in node.files.list_dir(log.directory)


def test_compacted_logs_are_cleaned_and_kept_to_their_retention(node: Node) -> None:
    log = node.create("topic")
    both = LogConfig(cleanup_policy=("compact", "delete"), retention_ms=1000)
    changes.update_topic_config(node.manager, "topic", both)
    node.fill(log, "1", "2", key=b"a")
    log.roller.roll()
    node.fill(log, "3", key=b"b")
    jobs.clean_all(node.manager, lambda _: None)
    assert latest_values(stored_records(log)) == {b"a": b"2", b"b": b"3"}
    assert len(stored_records(log)) == 2
    assert node.manager.cleaner.checkpoint(tp("topic")) == 2
    node.clock.now_ms += 2000
    jobs.run_retention(node.manager)
    assert len(stored_records(log)) == 2  # the cleaner's job sees to it
    jobs.clean_all(node.manager, lambda _: None)
    assert stored_records(log) == []


def test_flushes_move_the_recovery_point(node: Node) -> None:
    log, idle = node.create("topic"), node.create("idle")
    changes.update_topic_config(node.manager, "topic", LogConfig(flush_ms=1000))
    node.fill(log, "one")
    jobs.flush_dirty(node.manager)
    assert log.offsets.recovery_point == 0
    node.clock.now_ms += 1000
    jobs.flush_dirty(node.manager)
    assert (log.offsets.recovery_point, idle.offsets.recovery_point) == (1, 0)
    node.fill(idle, "one")
    idle.roller.roll()
    node.fill(idle, "two")
    jobs.flush_rolled(node.manager)
    assert idle.offsets.recovery_point == 1  # up to the roll, and no further


def test_checkpoints_say_where_logs_stand(node: Node) -> None:
    log = node.create("topic")
    node.fill(log, "one", "two", "three")
    log.offsets.raise_start(2)
    log.flusher.flush()
    jobs.write_recovery_points(node.manager)
    jobs.write_log_starts(node.manager)
    jobs.write_high_watermarks(node.manager)
    for name, offset in (("recovery-point", 3), ("log-start", 2), ("replication", 3)):
        assert read_offset_checkpoint(node.files, f"/d1/{name}-offset-checkpoint") == {tp("topic"): offset}
    manager = node.crash()
    assert manager.current[tp("topic")].offsets.log_start_offset == 2
    assert manager.current[tp("topic")].offsets.high_watermark == 3


def test_high_watermarks_are_those_of_the_moment_in_which_writing_them_was_planned(node: Node) -> None:
    log = node.create("topic")
    node.fill(log, "one")
    write = node.manager.plan_high_watermarks("/d1")
    node.fill(log, "two")
    assert not node.files.exists("/d1/replication-offset-checkpoint")
    write()
    assert read_offset_checkpoint(node.files, "/d1/replication-offset-checkpoint") == {tp("topic"): 1}


def test_the_schedule_runs_everything(node: Node) -> None:
    log = node.create("topic")
    node.fill(log, "value")
    schedule = jobs.make_schedule(node.manager, pause=lambda _: None)
    assert schedule.due(node.clock.monotonic_ms()) == []
    node.clock.now_ms += node.manager.settings.replica_high_watermark_checkpoint_interval_ms
    assert [job.name for job in schedule.due(node.clock.monotonic_ms())] == ["highwatermark-checkpoint"]
    node.clock.now_ms += node.manager.settings.log_initial_task_delay_ms
    due = schedule.due(node.clock.monotonic_ms())
    assert sorted(job.name for job in due) == sorted(
        [
            "PeriodicProducerExpirationCheck",
            "flush-after-roll",
            "highwatermark-checkpoint",
            "kafka-delete-logs",
            "kafka-log-cleaner",
            "kafka-log-retention",
            "kafka-log-start-offset-checkpoint",
            "kafka-recovery-point-checkpoint",
        ]
    )
    for job in due:
        job.run()
    assert read_offset_checkpoint(node.files, "/d1/replication-offset-checkpoint") == {tp("topic"): 1}
    assert schedule.next_due_ms() == node.clock.monotonic_ms() + 1000


def test_the_cleaner_begins_after_its_own_back_off(node: Node) -> None:
    schedule = jobs.make_schedule(node.manager, pause=lambda _: None)
    node.clock.now_ms += node.manager.cleaner.config.backoff_ms
    assert "kafka-log-cleaner" in [job.name for job in schedule.due(node.clock.monotonic_ms())]


# -- failure


def test_a_failing_directory_takes_nothing_else_with_it(node: Node) -> None:
    logs = [node.create("topic", number) for number in range(3)]
    told: list[tuple[str, tuple[TopicPartition, ...]]] = []
    node.manager.on_offline(lambda log_dir, gone: told.append((log_dir, gone)))
    for log in logs:
        node.fill(log, "value")
    node.disk.fail(errno.EIO, kind="sync", path="/d2/*", times=None)
    changes.update_default_config(node.manager, LogConfig(flush_ms=0))
    jobs.flush_dirty(node.manager)
    assert told == [("/d2", (tp("topic", 1),))]
    assert list(node.manager.live) == ["/d1", "/d3"]
    assert "goes offline" in node.manager.offline["/d2"]
    assert [log.offsets.recovery_point for log in logs] == [1, 0, 1]
    with pytest.raises(KafkaStorageError):
        logs[1].appender.append_as_leader(bytearray(batch("refused")), 0)
    node.fill(logs[0], "goes on")
    # What may be in the lost directory is not made anew elsewhere; what is new is.
    with pytest.raises(KafkaStorageError):
        node.manager.get_or_create(tp("topic", 1), TOPIC_ID)
    with pytest.raises(KafkaStorageError):
        changes.delete_log(node.manager, tp("topic", 1))
    assert node.create("new").log_dir in ("/d1", "/d3")
    node.manager.shutdown()
    assert [read_clean_shutdown(node.files, log_dir) is not None for log_dir in DIRS] == [True, False, True]


def test_a_directory_that_fails_at_creation_gives_way_to_the_next(node: Node) -> None:
    node.disk.fail(errno.EIO, kind="mkdir", path="/d1/*", times=None)
    assert node.create("topic").log_dir == "/d2"
    assert list(node.manager.offline) == ["/d1"]


def test_a_directory_that_fails_while_loading_is_offline(node: Node) -> None:
    for number in range(6):
        node.fill(node.create("topic", number), "value")
    node.manager.shutdown()
    node.disk.fail(errno.EIO, kind="read", path="/d3/topic-5/*", times=None)
    node.disk.fail(errno.EIO, kind="open", path="/d3/topic-5/*", times=None)
    manager = node.start()
    assert sorted(log.log_dir for log in manager.current.values()) == ["/d1", "/d1", "/d2", "/d2"]
    assert list(manager.offline) == ["/d3"]


def test_a_directory_that_fails_at_the_first_look_is_offline(node: Node) -> None:
    node.create("topic")
    node.manager.cleaner.set_checkpoint("/d2", tp("topic"), 0)
    node.manager.shutdown()
    node.disk.fail(errno.EIO, kind="read", path="/d2/cleaner-offset-checkpoint", times=None)
    assert list(node.start().offline) == ["/d2"]


def test_the_last_directory_takes_the_node_with_it() -> None:
    node = Node(dirs=("/d1",))
    node.fill(node.create("topic"), "value")
    node.disk.fail(errno.EIO, kind="create", path="/d1/*", times=None)
    with pytest.raises(Fault, match="all log directories have failed"):
        jobs.write_recovery_points(node.manager)


def test_a_failed_checkpoint_takes_its_directory_offline(node: Node) -> None:
    node.create("topic")
    node.disk.fail(errno.ENOSPC, kind="write", path="/d1/recovery*", times=None)
    jobs.write_recovery_points(node.manager)
    assert list(node.manager.offline) == ["/d1"]
    assert node.manager.current == {}


def test_a_failing_disk_under_the_cleaner_takes_its_directory_offline(node: Node) -> None:
    log = node.create("topic")
    changes.update_topic_config(node.manager, "topic", LogConfig(cleanup_policy=("compact",)))
    node.fill(log, "1", "2")
    log.roller.roll()
    node.disk.fail(errno.EIO, kind="write", path="*.cleaned", times=None)
    jobs.clean_all(node.manager, lambda _: None)
    assert list(node.manager.offline) == ["/d1"]


def test_damage_is_left_as_it_is_and_never_taken_for_a_torn_end(node: Node) -> None:
    log = node.create("topic")
    node.fill(log, "one", "two", "three")
    log.flusher.flush()
    jobs.write_recovery_points(node.manager)
    node.create("other", 1)
    file = node.files.open("/d1/topic-0/00000000000000000000.log")
    file.write(80, b"damage")
    file.sync()
    damaged = file.read(0, file.size())
    for _ in range(2):
        manager = node.crash()
        assert tp("topic") not in manager.current
        assert "00000000000000000000.log" in manager.damaged[tp("topic")].reason
        with pytest.raises(KafkaStorageError, match="damaged"):
            manager.get_or_create(tp("topic"), TOPIC_ID, is_new=True)
        jobs.write_recovery_points(manager)
        manager.shutdown()
        assert read_clean_shutdown(node.files, "/d1") is None
        assert node.files.read_file("/d1/topic-0/00000000000000000000.log") == damaged
    manager = node.start()
    changes.rename_damaged_to_stray(manager, tp("topic"))
    assert node.create("topic").offsets.log_end_offset == 0
    assert [name for name in node.files.list_dir("/d1") if name.endswith("-stray")]
