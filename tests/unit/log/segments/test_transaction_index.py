"""The transaction index: what a follower writes for one append of many transactions, and wrong files of Kafka's."""

from random import Random

import pytest

from odradek.log.offsets import AbortedTxn
from odradek.log.unified_log import UnifiedLog
from odradek.sim.world.disk import SimulatedDisk
from support.builders.committed_reads import (
    INDEX_ENTRY,
    NO_PRODUCER,
    History,
    aborted_entries,
    committed,
    read_committed,
    replace_index,
    stored_index,
)
from support.builders.logs import Rig

#: One entry of the offset index for each batch or two, so that fetches end between transactions.
SETTINGS = {"index_interval_bytes": 100}


def one_after_the_other() -> History:
    """Seven aborted transactions of one producer, one of them in two batches, then an open one of another."""
    history = History(Random(1))
    history.write(NO_PRODUCER, 2)
    for number in range(7):
        history.write(5)
        if number == 3:
            history.write(5)
        history.end(5, commit=False)
    history.write(6)
    return history


def caught_up(history: History, rig: Rig, **settings: object) -> UnifiedLog:
    """A follower that gets everything in one append."""
    log = rig.load(**SETTINGS, **settings)
    log.appender.append_as_follower(bytearray(b"".join(batch.data for batch in history.batches)), 0)
    log.offsets.set_high_watermark(log.offsets.log_end_offset)
    return log


def test_each_entry_has_the_last_stable_offset_behind_its_own_marker() -> None:
    history = one_after_the_other()
    log = caught_up(history, Rig(SimulatedDisk()))
    assert [entry.last_stable_offset for entry in stored_index(log)] == [4, 6, 8, 11, 13, 15, 17]
    assert stored_index(log) == aborted_entries([[batch] for batch in history.batches])


def test_a_transaction_that_was_open_before_the_marker_counts() -> None:
    history = History(Random(1))
    history.write(7)
    for _ in range(3):
        history.write(5)
        history.end(5, commit=False)
    history.end(7, commit=False)
    history.write(6)
    log = caught_up(history, Rig(SimulatedDisk()))
    assert [entry.last_stable_offset for entry in stored_index(log)] == [0, 0, 0, 8]


@pytest.mark.parametrize("max_bytes", [1, 150, 400, 1_000, 1 << 20])
def test_an_index_of_kafkas_is_read_correctly_before_it_is_repaired(max_bytes: int) -> None:
    history = one_after_the_other()
    log = caught_up(history, Rig(SimulatedDisk()))
    kafkas = aborted_entries([history.batches], as_kafka=True)
    assert {entry.last_stable_offset for entry in kafkas} == {17}
    replace_index(log, kafkas)
    assert read_committed(log, max_bytes, Random(2)) == committed(history.batches)


@pytest.mark.parametrize("clean_shutdown", [True, False])
def test_a_wrong_index_is_corrected_when_the_log_is_loaded(clean_shutdown: bool) -> None:
    history = one_after_the_other()
    rig = Rig(SimulatedDisk())
    log = caught_up(history, rig)
    replace_index(log, aborted_entries([history.batches], as_kafka=True))
    log.flusher.flush(include_active=True)
    log.close()
    end = log.offsets.log_end_offset
    log = rig.load(clean_shutdown=clean_shutdown, recovery_point=end if clean_shutdown else 0)
    assert stored_index(log) == aborted_entries([[batch] for batch in history.batches])
    corrected = [line for line in log.repairs if "6 last stable offsets too high" in line]
    assert len(corrected) == (1 if clean_shutdown else 0)


def test_a_correction_is_whole_or_not_there_after_a_crash() -> None:
    history = one_after_the_other()
    disk = SimulatedDisk()
    rig = Rig(disk)
    log = caught_up(history, rig)
    wrong = aborted_entries([history.batches], as_kafka=True)
    replace_index(log, wrong)
    log.flusher.flush(include_active=True)
    log.close()
    disk.settle()
    log = rig.load(clean_shutdown=True, recovery_point=log.offsets.log_end_offset)
    path = log.segments.active.txn_index.path
    right = stored_index(log)
    assert right != wrong
    for state in disk.states():
        for keep in ("none", "all", Random(1)):
            stored = state.crash(keep).read_file(path)
            assert [AbortedTxn(*fields) for _, *fields in INDEX_ENTRY.iter_unpack(stored)] in (wrong, right)
