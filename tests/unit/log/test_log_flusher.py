"""What is durable when; and what happens when the disk fails."""

import errno

import pytest

from odradek.log.errors import InconsistentTopicId, KafkaStorageError, StorageFault
from odradek.log.log_flusher import FlushPlan
from odradek.log.unified_log import UnifiedLog
from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import DIRECTORY, Rig, batch, idempotent, stored_values


@pytest.fixture
def disk() -> SimulatedDisk:
    disk = SimulatedDisk()
    disk.make_dirs("/data")
    disk.settle()
    return disk


@pytest.fixture
def rig(disk: SimulatedDisk) -> Rig:
    return Rig(disk)


def planned(log: UnifiedLog, up_to: int | None = None) -> FlushPlan:
    plan = log.flusher.plan(up_to)
    assert plan is not None
    return plan


class TestFlush:
    def test_the_recovery_point_moves_when_the_sync_is_done(self, rig: Rig, disk: SimulatedDisk) -> None:
        log = rig.load()
        log.appender.append_as_leader(batch("a"), 0)
        plan = planned(log)
        log.appender.append_as_leader(batch("b"), 0)
        assert log.offsets.recovery_point == 0
        plan.run()
        assert log.offsets.recovery_point == 0
        log.flusher.finish(plan)
        assert log.offsets.recovery_point == 1, "b came after the plan"
        rig.files = disk.crash("none")
        assert stored_values(rig.load(recovery_point=1))[:1] == [b"a"]

    def test_a_flushed_log_survives_the_loss_of_everything_else(self, rig: Rig, disk: SimulatedDisk) -> None:
        log = rig.load(segment_bytes=250)
        for index in range(9):
            log.appender.append_as_leader(idempotent(7, index, str(index)), index // 4)
        log.flusher.flush()
        log.appender.append_as_leader(idempotent(7, 9, "lost"), 2)
        rig.files = disk.crash("none")
        again = rig.load(recovery_point=log.offsets.recovery_point)
        assert stored_values(again) == [str(index).encode() for index in range(9)]
        assert again.epochs.entries() == log.epochs.entries()
        assert again.appender.append_as_leader(idempotent(7, 8, "8"), 2).is_duplicate

    def test_sealed_segments_are_flushed_up_to_the_roll(self, rig: Rig) -> None:
        log = rig.load(segment_bytes=100)
        for _ in range(4):
            log.appender.append_as_leader(batch("a"), 0)
        assert log.flusher.requested_up_to == 3
        plan = planned(log, log.flusher.requested_up_to)
        plan.run()
        log.flusher.finish(plan)
        assert (log.offsets.recovery_point, log.flusher.requested_up_to) == (3, None)

    def test_nothing_to_flush_is_no_plan(self, rig: Rig) -> None:
        log = rig.load()
        log.appender.append_as_leader(batch("a"), 0)
        log.flusher.flush()
        assert log.flusher.plan() is None

    def test_a_truncation_during_the_flush_is_respected(self, rig: Rig) -> None:
        log = rig.load()
        for value in "abc":
            log.appender.append_as_leader(batch(value), 0)
        plan = planned(log)
        log.truncation.truncate_to(1)
        plan.run()
        log.flusher.finish(plan)
        assert log.offsets.recovery_point == 1

    def test_flush_messages_flushes_before_the_append_returns(self, rig: Rig, disk: SimulatedDisk) -> None:
        log = rig.load(flush_messages=2)
        log.appender.append_as_leader(batch("a"), 0)
        assert log.offsets.recovery_point == 0
        log.appender.append_as_leader(batch("b"), 0)
        assert log.offsets.recovery_point == 2
        rig.files = disk.crash("none")
        assert stored_values(rig.load()) == [b"a", b"b"]


class TestFaults:
    @pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
    def test_a_failed_write_takes_the_log_offline(self, rig: Rig, disk: SimulatedDisk, code: int) -> None:
        log = rig.load()
        log.appender.append_as_leader(batch("a"), 0)
        disk.fail(code, kind="write", path="*.log")
        with pytest.raises(StorageFault) as fault:
            log.appender.append_as_leader(batch("b"), 0)
        assert fault.value.log_dir == "/data" and fault.value.path.endswith(".log")
        assert log.offsets.log_end_offset == 1
        self.assert_refuses_everything(log)

    def assert_refuses_everything(self, log: UnifiedLog) -> None:
        for call in (
            lambda: log.appender.append_as_leader(batch("c"), 0),
            lambda: log.appender.append_as_follower(batch("c", base_offset=9, leader_epoch=0), 0),
            lambda: log.reader.read(0, 100),
            lambda: log.reader.offset_for_timestamp(5),
            lambda: log.truncation.truncate_to(0),
            lambda: log.truncation.restart_at(0),
            lambda: log.offsets.raise_start(0),
            log.roller.roll,
            log.retention.delete_old_segments,
            log.flusher.plan,
            log.flusher.flush,
            lambda: log.rename_dir("topic-1"),
            log.delete,
        ):
            with pytest.raises(KafkaStorageError) as refused:
                call()
            assert refused.value.code == 56
        log.close()

    def test_a_failed_sync_is_never_retried(self, rig: Rig, disk: SimulatedDisk) -> None:
        log = rig.load()
        log.appender.append_as_leader(batch("a"), 0)
        plan = planned(log)
        disk.fail(kind="sync", path="*.log")
        with pytest.raises(StorageFault):
            plan.run()
        with pytest.raises(KafkaStorageError):
            log.flusher.finish(plan)
        assert log.offsets.recovery_point == 0
        self.assert_refuses_everything(log)

    @pytest.mark.parametrize("operation", range(80))
    def test_any_failing_operation_takes_the_log_offline(self, operation: int) -> None:
        """Whatever fails: nothing is acknowledged after it, and what was flushed before is there after a restart. What
        was not may be lost with a failed sync, but only from the end."""
        disk = SimulatedDisk()
        disk.make_dirs("/data")
        disk.settle()
        disk.fail(errno.EIO, operation=operation)
        rig = Rig(disk)
        acknowledged: list[bytes] = []
        log = None
        try:
            log = rig.load(segment_bytes=250)
            for index in range(6):
                log.appender.append_as_leader(idempotent(7, index, str(index)), index // 2)
                acknowledged.append(str(index).encode())
                if index % 2:
                    log.flusher.flush()
        except StorageFault:
            if log is not None:
                self.assert_refuses_everything(log)
        else:
            assert disk.faults.raised == 0 and operation >= len(disk.journal)
        rig.files = disk.crash("all")
        flushed = log.offsets.recovery_point if log is not None else 0
        found = stored_values(rig.load(recovery_point=flushed))
        assert found[:flushed] == acknowledged[:flushed]
        assert found == [str(index).encode() for index in range(len(found))]

    def test_a_read_error_takes_the_log_offline(self, rig: Rig, disk: SimulatedDisk) -> None:
        log = rig.load()
        log.appender.append_as_leader(batch("a"), 0)
        found = log.reader.read(0, 100)
        disk.fail(kind="read", path="*.log")
        with pytest.raises(StorageFault):
            log.reader.fetch(found)
        with pytest.raises(KafkaStorageError):
            log.reader.read(0, 100)

    def test_a_full_disk_loses_nothing_that_was_acknowledged(self) -> None:
        disk = SimulatedDisk(capacity_bytes=2000)
        rig = Rig(disk)
        log = rig.load()
        count = 0
        with pytest.raises(StorageFault, match="No space left"):
            for count in range(1000):
                log.appender.append_as_leader(batch(str(count)), 0)
        rig.files = disk.crash("all")
        disk.capacity_bytes = None
        rig.files.capacity_bytes = None
        again = rig.load()
        assert stored_values(again) == [str(index).encode() for index in range(count)]
        again.appender.append_as_leader(batch("more"), 0)
        assert stored_values(again)[-1] == b"more"


class TestLife:
    def test_a_closed_log_is_opened_as_it_was(self, rig: Rig) -> None:
        log = rig.load(segment_bytes=200)
        for index in range(7):
            log.appender.append_as_leader(idempotent(7, index, str(index)), index // 3)
        log.flusher.flush(include_active=True)
        log.close()
        log.close()
        again = rig.load(clean_shutdown=True)
        assert again.repairs == ()
        assert again.offsets.recovery_point == again.offsets.log_end_offset == 7
        assert repr(again.producers.producers[7].last_sequence) == "6"
        assert stored_values(again) == [b"%d" % index for index in range(7)]

    def test_a_renamed_log_works_on(self, rig: Rig, disk: SimulatedDisk) -> None:
        log = rig.load(segment_bytes=100)
        log.appender.append_as_leader(batch("a"), 0)
        log.rename_dir("topic-0.0123-future")
        assert log.is_future and log.name == "topic-0.0123-future"
        log.appender.append_as_leader(batch("b"), 1)
        log.rename_dir("topic-0")
        assert stored_values(log) == [b"a", b"b"]
        log.flusher.flush()
        log.close()
        assert stored_values(rig.load()) == [b"a", b"b"]
        assert disk.list_dir("/data") == ["topic-0"]

    def test_a_deleted_log_is_gone(self, rig: Rig, disk: SimulatedDisk) -> None:
        log = rig.load()
        log.appender.append_as_leader(batch("a"), 0)
        log.rename_dir("topic-0.0123-delete", keep_state=False)
        log.delete()
        assert disk.list_dir("/data") == []

    def test_the_topic_id_is_kept_and_checked(self, rig: Rig) -> None:
        mine, other = bytes(range(16)), bytes(range(1, 17))
        log = rig.load()
        log.assign_topic_id(mine)
        log.assign_topic_id(mine)
        with pytest.raises(InconsistentTopicId):
            log.assign_topic_id(other)
        assert rig.load().topic_id == mine
        assert rig.load(topic_id=mine).topic_id == mine
        with pytest.raises(InconsistentTopicId):
            rig.load(topic_id=other)

    def test_the_directory_of_a_new_log_is_durable(self, rig: Rig, disk: SimulatedDisk) -> None:
        rig.load()
        assert disk.crash("none").is_dir(DIRECTORY)


@pytest.mark.parametrize("end", ["close", "close_handlers", "delete"])
def test_a_log_that_has_ended_takes_nothing_more(rig: Rig, end: str) -> None:
    log = rig.load()
    log.appender.append_as_leader(batch("a"), 0)
    getattr(log, end)()
    operations = len(rig.files.journal)
    for attempt in (
        lambda: log.appender.append_as_leader(batch("b"), 0),
        lambda: log.reader.read(0, 1),
        log.flusher.flush,
        log.roller.roll,
        log.delete,
    ):
        with pytest.raises(KafkaStorageError, match="was closed"):
            attempt()
    log.close()
    assert len(rig.files.journal) == operations
