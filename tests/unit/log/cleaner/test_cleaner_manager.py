"""Which log is cleaned next, and what keeps a log from being cleaned."""

from dataclasses import replace

import pytest

from odradek.common.failures import Fault
from odradek.common.ids import TopicPartition
from odradek.log.cleaner.cleaner import CleanerConfig, Cleaning, CleaningAborted, run_steps
from odradek.log.cleaner.cleaner_manager import CleanerManager
from odradek.log.manager.checkpoint_files import read_offset_checkpoint
from odradek.log.unified_log import UnifiedLog
from odradek.records.errors import CorruptRecord
from odradek.sim.world.disk import SimulatedDisk
from support.builders.cleaning import COMPACTED, SEED, CompactedLog
from support.builders.logs import HandClock

CHECKPOINT = "/data/cleaner-offset-checkpoint"


class Bench:
    """Three compacted logs, of which the second is the dirtiest and the third is clean."""

    def __init__(self) -> None:
        self.disk = SimulatedDisk()
        self.clock = HandClock()
        self.compacted = [self._log(number) for number in range(3)]
        self.logs: dict[TopicPartition, UnifiedLog] = {log.log.topic_partition: log.log for log in self.compacted}
        self.disk.open(CHECKPOINT, create=True).append(b"0\n2\ntopic 0 1\ntopic 2 2\n")
        self.manager = self.new_manager()

    def _log(self, number: int) -> CompactedLog:
        log = CompactedLog(self.disk, f"/data/topic-{number}", COMPACTED, self.clock)
        log.append((b"a", b"1"))
        log.roll()
        log.append((b"a", b"22222"))
        log.roll()
        return log

    def new_manager(self) -> CleanerManager:
        return CleanerManager(self.disk, self.clock, CleanerConfig(), self.logs, ["/data"], lambda: SEED)

    def begin(self) -> Cleaning:
        cleaning = self.manager.next_round()
        assert cleaning is not None
        return cleaning

    def run(self) -> str:
        cleaning = self.begin()
        run_steps(cleaning, self.logs[cleaning.plan.topic_partition], lambda _: None)
        self.manager.finish(cleaning)
        return str(cleaning.plan.topic_partition)

    def checkpoint(self) -> dict[str, int]:
        return {str(tp): offset for tp, offset in read_offset_checkpoint(self.disk, CHECKPOINT).items()}


@pytest.fixture
def bench() -> Bench:
    return Bench()


def tp(number: int) -> TopicPartition:
    return TopicPartition("topic", number)


def test_the_dirtiest_log_comes_first_and_its_end_is_written_down(bench: Bench) -> None:
    assert bench.run() == "topic-1"
    assert bench.manager.dirtiest_ratio == 1.0
    assert bench.checkpoint() == {"topic-0": 1, "topic-1": 2, "topic-2": 2}
    assert bench.run() == "topic-0"
    assert bench.manager.next_round() is None
    assert bench.new_manager().checkpoint(tp(0)) == 2


def test_logs_of_other_policies_are_left_alone(bench: Bench) -> None:
    bench.compacted[1].with_config(replace(COMPACTED, cleanup_policy=("delete",)))
    assert bench.run() == "topic-0"
    assert bench.manager.next_round() is None


def test_a_log_is_in_one_round_at_a_time(bench: Bench) -> None:
    first = bench.begin()
    assert first.plan.topic_partition == tp(1)
    assert bench.manager.is_in_progress(tp(1))
    assert not bench.manager.may_touch(tp(1))
    assert bench.begin().plan.topic_partition == tp(0)
    assert bench.manager.next_round() is None


def test_a_pause_aborts_the_round_and_lasts_until_it_is_resumed(bench: Bench) -> None:
    cleaning = bench.begin()
    bench.manager.abort_and_pause(tp(1))
    bench.manager.abort_and_pause(tp(1))
    assert cleaning.is_aborted
    with pytest.raises(CleaningAborted):
        run_steps(cleaning, bench.logs[tp(1)], lambda _: None)
    bench.manager.resume(tp(1))
    bench.manager.finish(cleaning, CleaningAborted())
    assert "topic-1" not in bench.checkpoint()
    assert bench.run() == "topic-0"
    assert bench.manager.next_round() is None
    bench.manager.resume(tp(1))
    assert bench.run() == "topic-1"


def test_no_new_round_while_the_worker_of_an_aborted_one_still_runs(bench: Bench) -> None:
    cleaning = bench.begin()
    bench.manager.abort(tp(1))
    assert bench.begin().plan.topic_partition == tp(0)
    assert bench.manager.next_round() is None
    bench.manager.finish(cleaning, CleaningAborted())
    assert bench.begin().plan.topic_partition == tp(1)


def test_resuming_what_is_not_paused_is_a_fault(bench: Bench) -> None:
    with pytest.raises(Fault, match="not paused"):
        bench.manager.resume(tp(1))


def test_what_cannot_be_cleaned_is_remembered_with_the_reason(bench: Bench) -> None:
    cleaning = bench.begin()
    bench.manager.finish(cleaning, CorruptRecord("/data/topic-1/0.log:17: damaged"))
    assert bench.manager.uncleanable == {tp(1): "CorruptRecord: /data/topic-1/0.log:17: damaged"}
    assert bench.run() == "topic-0"
    assert bench.manager.next_round() is None
    del bench.logs[tp(1)]
    bench.manager.next_round()
    assert bench.manager.uncleanable == {}


def test_an_unreadable_checkpoint_makes_everything_dirty(bench: Bench) -> None:
    bench.disk.open(CHECKPOINT).write(0, b"what is this")
    bench.manager = bench.new_manager()
    assert sorted(bench.run() for _ in range(3)) == ["topic-0", "topic-1", "topic-2"]
    assert len(bench.checkpoint()) == 3


def test_a_checkpoint_beyond_the_log_is_put_right_on_disk(bench: Bench) -> None:
    bench.manager.set_checkpoint("/data", tp(2), 1000)
    bench.manager.next_round()
    assert bench.checkpoint()["topic-2"] == 0


def test_checkpoints_follow_logs(bench: Bench) -> None:
    manager = CleanerManager(bench.disk, bench.clock, CleanerConfig(), bench.logs, ["/data", "/other"], lambda: SEED)
    bench.disk.make_dirs("/other")
    manager.move(tp(0), "/data", "/other")
    assert "topic-0" not in bench.checkpoint()
    assert read_offset_checkpoint(bench.disk, "/other/cleaner-offset-checkpoint") == {tp(0): 1}
    manager.forget("/other", [tp(0)])
    assert read_offset_checkpoint(bench.disk, "/other/cleaner-offset-checkpoint") == {}


def test_a_truncation_takes_the_checkpoint_back(bench: Bench) -> None:
    bench.logs[tp(2)].truncation.truncate_to(1)
    bench.manager.truncate_checkpoint(bench.logs[tp(2)])
    assert bench.checkpoint()["topic-2"] == bench.logs[tp(2)].segments.active.base_offset == 1


def test_a_directory_that_fails_is_cleaned_no_more(bench: Bench) -> None:
    cleaning = bench.begin()
    bench.manager.drop_dir("/data")
    assert cleaning.is_aborted
    assert bench.manager.next_round() is None


def test_the_io_limit_changes_at_once(bench: Bench) -> None:
    cleaning = bench.begin()
    bench.manager.reconfigure(CleanerConfig(io_max_bytes_per_second=1000))
    assert cleaning.throttle.bytes_per_second == 1000
    assert bench.begin().config.io_max_bytes_per_second == 1000
