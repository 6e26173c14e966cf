"""Taking records back, with their epochs, producers and index entries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.common.failures import Fault
from odradek.log.errors import OutOfOrderSequence
from odradek.log.offsets import AppendOrigin
from odradek.log.recovery import producer_rebuild
from odradek.log.unified_log import UnifiedLog
from odradek.records.builder import end_transaction_marker
from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import Rig, batch, committed_records, idempotent, stored_batches, stored_values


def filled(rig: Rig, count: int = 10, **settings: object) -> UnifiedLog:
    """Batches of one record each, every second one from an idempotent producer, a new epoch every three."""
    log = rig.load(segment_bytes=250, index_interval_bytes=0, **settings)
    for index in range(count):
        data = idempotent(7, index // 2, str(index)) if index % 2 else batch(str(index))
        log.appender.append_as_leader(data, index // 3)
    return log


@pytest.fixture
def rig() -> Rig:
    return Rig(SimulatedDisk())


@given(st.integers(0, 12))
def test_what_is_left_is_as_if_the_rest_had_never_been(target: int) -> None:
    rig, other = Rig(SimulatedDisk()), Rig(SimulatedDisk())
    log, expected = filled(rig), filled(other, min(target, 10))
    assert log.truncation.truncate_to(target) == (target < 10)
    assert stored_values(log) == stored_values(expected)
    assert log.offsets.log_end_offset == expected.offsets.log_end_offset
    assert log.epochs.entries() == expected.epochs.entries()
    mine = {key: entry.last_sequence for key, entry in log.producers.producers.items()}
    assert mine == {key: entry.last_sequence for key, entry in expected.producers.producers.items()}
    log.appender.append_as_leader(batch("next"), 9)
    assert stored_values(log)[-1] == b"next"
    assert stored_values(rig.load()) == stored_values(log)


def test_a_batch_that_holds_the_offset_goes_with_it(rig: Rig) -> None:
    log = rig.load()
    log.appender.append_as_leader(batch("a", "b", "c"), 0)
    log.appender.append_as_leader(batch("d", "e"), 0)
    log.truncation.truncate_to(4)
    assert stored_values(log) == [b"a", b"b", b"c"]
    assert log.offsets.log_end_offset == 4, "as Kafka: the end is where the truncation said"


def test_high_watermark_recovery_point_and_log_start_follow(rig: Rig) -> None:
    log = filled(rig)
    log.offsets.set_high_watermark(9)
    log.flusher.flush()
    log.offsets.raise_start(6)
    assert log.offsets.recovery_point == 10
    log.truncation.truncate_to(4)
    assert (log.offsets.high_watermark, log.offsets.recovery_point, log.offsets.log_start_offset) == (4, 4, 4)


def test_an_epoch_beyond_the_end_is_forgotten(rig: Rig) -> None:
    log = filled(rig)
    log.epochs.assign(8, 10)
    assert not log.truncation.truncate_to(10)
    assert log.epochs.latest_epoch == 3


def test_sequences_go_on_from_what_is_left(rig: Rig) -> None:
    log = filled(rig)
    log.truncation.truncate_to(4)
    with pytest.raises(OutOfOrderSequence):
        log.appender.append_as_leader(idempotent(7, 4, "x"), 3)
    log.appender.append_as_leader(idempotent(7, 2, "x"), 3)


def test_a_transaction_is_open_again_without_its_marker(rig: Rig) -> None:
    log = rig.load()
    log.appender.append_as_leader(idempotent(7, 0, "a", is_transactional=True), 0)
    marker = end_transaction_marker(commit=False, timestamp=0, producer_id=7, producer_epoch=0, coordinator_epoch=0)
    log.appender.append_as_leader(marker, 0, AppendOrigin.COORDINATOR, transaction_version=0)
    log.offsets.set_high_watermark(2)
    assert log.offsets.last_stable_offset == 2
    log.truncation.truncate_to(1)
    assert log.offsets.last_stable_offset == 0
    commit = end_transaction_marker(commit=True, timestamp=0, producer_id=7, producer_epoch=0, coordinator_epoch=0)
    log.appender.append_as_leader(commit, 0, AppendOrigin.COORDINATOR, transaction_version=0)
    log.offsets.set_high_watermark(2)
    assert [record.value for record in committed_records(log)] == [b"a"]


def test_starting_anew_elsewhere(rig: Rig) -> None:
    log = filled(rig)
    log.offsets.set_high_watermark(5)
    log.truncation.restart_at(100)
    assert (log.offsets.log_start_offset, log.offsets.high_watermark, log.offsets.log_end_offset) == (100, 100, 100)
    assert log.segments.base_offsets == [100]
    assert log.epochs.entries() == [] and log.producers.is_empty
    log.appender.append_as_leader(batch("a"), 5)
    assert [part.base_offset for part in stored_batches(log)] == [100]
    for removal in log.segments.take_removals():
        removal.run()
    assert stored_values(rig.load(log_start_offset=100)) == [b"a"]


def test_starting_anew_where_the_log_already_is(rig: Rig) -> None:
    log = filled(rig, 1)
    log.truncation.restart_at(0)
    assert log.offsets.is_empty and log.segments.size_bytes == 0
    log.appender.append_as_leader(batch("a"), 5)
    assert stored_values(rig.load()) == [b"a"]


def test_below_the_first_segment_means_starting_anew(rig: Rig) -> None:
    log = rig.load(log_start_offset=50)
    log.appender.append_as_leader(batch("a"), 0)
    assert log.truncation.truncate_to(20)
    assert (log.offsets.log_start_offset, log.offsets.log_end_offset) == (20, 20)


def test_a_negative_offset_is_our_mistake(rig: Rig) -> None:
    with pytest.raises(Fault):
        filled(rig).truncation.truncate_to(-1)


class TestExpiredProducers:
    """All producers have expired when the log is truncated: none is known, but the log that is left has some."""

    def log_of_two_transactions(self, rig: Rig) -> UnifiedLog:
        """From 0 to 1 and from 2 to 3; the snapshot of a roll has the first one open. The log was restarted later."""
        log = rig.load()
        log.appender.append_as_leader(idempotent(7, 0, "first", is_transactional=True), 0)
        log.roller.roll()
        self.commit(log)
        log.appender.append_as_leader(idempotent(7, 1, "second", is_transactional=True), 0)
        self.commit(log)
        log.appender.append_as_leader(batch("last"), 0)
        rig.clock.now_ms += log.producers.expiration_ms
        log.flusher.flush(include_active=True)
        log.close()
        log = rig.load(clean_shutdown=True, recovery_point=log.offsets.log_end_offset)
        assert log.producers.is_empty
        return log

    def commit(self, log: UnifiedLog) -> None:
        marker = end_transaction_marker(
            commit=True, timestamp=log.clock.wall_ms(), producer_id=7, producer_epoch=0, coordinator_epoch=0
        )
        log.appender.append_as_leader(bytearray(marker), 0, AppendOrigin.COORDINATOR, transaction_version=1)

    @pytest.mark.parametrize(("end_offset", "last_stable_offset"), [(4, 4), (3, 2), (2, 2), (1, 0)])
    def test_a_transaction_is_open_if_its_marker_is_cut_off_and_only_then(
        self, rig: Rig, end_offset: int, last_stable_offset: int
    ) -> None:
        log = self.log_of_two_transactions(rig)
        log.truncation.truncate_to(end_offset)
        log.offsets.set_high_watermark(end_offset)
        assert (log.offsets.log_end_offset, log.offsets.last_stable_offset) == (end_offset, last_stable_offset)

    def test_a_log_without_producers_is_not_read_again(self, rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
        log = rig.load(segment_bytes=250)
        for number in range(10):
            log.appender.append_as_leader(batch(str(number)), 0)
        monkeypatch.setattr(producer_rebuild, "replay_segment", lambda *_: pytest.fail("a segment was read"))
        log.truncation.truncate_to(7)
        log.truncation.truncate_to(3)
        assert log.offsets.log_end_offset == 3
