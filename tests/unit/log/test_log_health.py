"""Taking a log offline: which failures do it, what is rejected afterwards, and what the errors name."""

import errno

import pytest

from odradek.common.failures import Fault
from odradek.common.ids import TopicPartition
from odradek.log.errors import KafkaStorageError, StorageFault
from odradek.log.log_health import LogHealth
from odradek.log.offsets import FileRange
from odradek.log.values import CorruptLog
from odradek.records.errors import CorruptRecord
from odradek.sim.world.disk import SimulatedDisk

DIRECTORY = "/data/topic-0"
LOG_PATH = f"{DIRECTORY}/00000000000000000000.log"


@pytest.fixture
def health() -> LogHealth:
    return LogHealth(TopicPartition("topic", 0), DIRECTORY)


def io_error(path: str | None = LOG_PATH) -> OSError:
    return OSError(errno.EIO, "Input/output error", path)


class TestOnline:
    def test_a_new_log_is_online(self, health: LogHealth) -> None:
        health.check_online()
        health.check_disk()
        assert health.fault is None and not health.is_closed

    def test_the_log_directory_is_the_parent_of_the_partition_directory(self, health: LogHealth) -> None:
        assert (health.log_dir, health.directory) == ("/data", DIRECTORY)

    def test_a_closed_log_is_rejected(self, health: LogHealth) -> None:
        health.close()
        for check in (health.check_online, health.check_disk):
            with pytest.raises(KafkaStorageError, match=r"The log of topic-0 was closed") as error:
                check()
            assert error.value.code == 56

    def test_an_offline_log_is_rejected_with_its_fault(self, health: LogHealth) -> None:
        health.fail(io_error())
        with pytest.raises(KafkaStorageError, match=r"The log of topic-0 is offline: .*Input/output error"):
            health.check_online()

    def test_the_fault_is_reported_after_the_log_was_closed(self, health: LogHealth) -> None:
        health.fail(io_error())
        health.close()
        with pytest.raises(KafkaStorageError, match="is offline"):
            health.check_online()

    def test_a_renamed_directory_stays_in_its_log_directory(self, health: LogHealth) -> None:
        health.moved_to("/data/topic-0.0123-delete")
        fault = health.fail(io_error(path=None))
        assert (fault.log_dir, fault.path) == ("/data", "/data/topic-0.0123-delete")


class TestDisk:
    def test_damaged_records_leave_the_disk_usable(self, health: LogHealth) -> None:
        health.report_corruption(CorruptRecord("wrong CRC"))
        health.check_disk()
        with pytest.raises(KafkaStorageError):
            health.check_online()

    def test_a_failed_disk_is_rejected(self, health: LogHealth) -> None:
        health.fail(io_error())
        with pytest.raises(KafkaStorageError):
            health.check_disk()


class TestGuard:
    def test_a_disk_error_takes_the_log_offline(self, health: LogHealth) -> None:
        error = io_error()
        with pytest.raises(StorageFault) as raised, health.guard():
            raise error
        fault = raised.value
        assert (fault.log_dir, fault.path, fault.error) == ("/data", LOG_PATH, error)
        assert health.fault is fault and fault.__cause__ is error

    def test_an_error_without_a_path_names_the_partition_directory(self, health: LogHealth) -> None:
        with pytest.raises(StorageFault) as raised, health.guard():
            raise io_error(path=None)
        assert raised.value.path == DIRECTORY

    def test_a_damaged_record_takes_the_log_offline(self, health: LogHealth) -> None:
        with pytest.raises(CorruptLog, match="wrong CRC") as raised, health.guard():
            raise CorruptRecord("wrong CRC")
        assert (raised.value.path, raised.value.position) == (DIRECTORY, None)
        assert health.fault is raised.value

    def test_other_errors_pass_and_leave_the_log_online(self, health: LogHealth) -> None:
        with pytest.raises(KeyError), health.guard():
            raise KeyError("producer")
        health.check_online()

    def test_success_leaves_the_log_online(self, health: LogHealth) -> None:
        with health.guard():
            pass
        health.check_online()


class TestFault:
    def test_corruption_names_file_and_position(self, health: LogHealth) -> None:
        disk = SimulatedDisk()
        disk.make_dirs(DIRECTORY)
        damaged = FileRange(disk.open(LOG_PATH, create=True), 340, 61)
        fault = health.report_corruption(CorruptRecord("wrong CRC"), damaged)
        assert (fault.path, fault.position, fault.reason) == (LOG_PATH, 340, "wrong CRC")

    def test_the_first_fault_is_kept(self, health: LogHealth) -> None:
        first = health.fail(io_error())
        second = health.report_corruption(CorruptRecord("wrong CRC"))
        health.take_offline(Fault("third"))
        assert health.fault is first
        assert isinstance(second, CorruptLog), "the caller raises the fault that it met"

    def test_a_failed_disk_after_damaged_records_keeps_the_damage(self, health: LogHealth) -> None:
        damage = health.report_corruption(CorruptRecord("wrong CRC"))
        health.fail(io_error())
        assert health.fault is damage
