"""After a restart a producer may repeat any of its last five batches, though a snapshot holds only the last."""

from pathlib import Path

import pytest

from odradek.common.files import OsFileSystem
from odradek.log.errors import OutOfOrderSequence
from odradek.log.unified_log import UnifiedLog
from support.builders.logs import HandClock, Rig, idempotent

FIVE = 5


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(OsFileSystem(), HandClock(), f"{tmp_path}/topic-0")


def filled(rig: Rig, count: int, **settings: object) -> UnifiedLog:
    """Two producers in turn, each with batches of two records."""
    log = rig.load(**settings)
    for index in range(count):
        for producer_id in (7, 8):
            log.appender.append_as_leader(idempotent(producer_id, 2 * index, "a", "b"), 0)
    return log


def repeat(log: UnifiedLog, count: int) -> None:
    """The last five of each, as the producer sent them: all are known, each at its own place."""
    for index in range(count - FIVE, count):
        for place, producer_id in enumerate((7, 8)):
            info = log.appender.append_as_leader(idempotent(producer_id, 2 * index, "a", "b"), 0)
            assert info.is_duplicate
            assert info.first_offset == 4 * index + 2 * place


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("count", [5, 6, 40])
def test_the_last_five_are_known_after_a_restart(rig: Rig, clean: bool, count: int) -> None:
    filled(rig, count).close()
    log = rig.load(clean_shutdown=clean)
    repeat(log, count)
    with pytest.raises(OutOfOrderSequence):
        log.appender.append_as_leader(idempotent(7, 2 * count + 1, "gap"), 0)
    log.appender.append_as_leader(idempotent(7, 2 * count, "next"), 0)


@pytest.mark.parametrize("clean", [True, False])
def test_they_may_lie_in_two_segments(rig: Rig, clean: bool) -> None:
    segment_bytes = 12 * len(idempotent(7, 0, "a", "b")) + 1
    log = filled(rig, 8, segment_bytes=segment_bytes, index_interval_bytes=0)
    assert len(log.segments) == 2
    log.close()
    repeat(rig.load(clean_shutdown=clean), 8)


def test_only_the_last_moments_are_read_again(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is not known is refused, as it was before the restart for a sixth."""
    monkeypatch.setattr("odradek.log.recovery.producer_recall._INDEX_ENTRIES", 2)
    filled(rig, 40, index_interval_bytes=0).close()
    log = rig.load(clean_shutdown=True)
    assert log.appender.append_as_leader(idempotent(8, 78, "a", "b"), 0).is_duplicate
    with pytest.raises(OutOfOrderSequence):
        log.appender.append_as_leader(idempotent(8, 70, "a", "b"), 0)


def test_those_of_an_older_epoch_are_not(rig: Rig) -> None:
    log = filled(rig, 3)
    log.appender.append_as_leader(idempotent(7, 0, "new", epoch=1), 0)
    log.close()
    entry = rig.load(clean_shutdown=False).producers.last_entry(7)
    assert entry is not None and [batch.last_offset for batch in entry.batches] == [12]


def test_after_a_truncation_too(rig: Rig) -> None:
    """A snapshot is left where a log was loaded, and a follower that is cut goes back to it."""
    filled(rig, 6).close()
    log = rig.load(clean_shutdown=False)
    log.appender.append_as_follower(idempotent(7, 12, "c", base_offset=24, leader_epoch=0), 0)
    log.appender.append_as_follower(idempotent(7, 13, "d", base_offset=25, leader_epoch=0), 0)
    log.truncation.truncate_to(25)
    repeat_of_7 = [log.appender.append_as_leader(idempotent(7, 2 * index, "a", "b"), 0) for index in range(2, 6)]
    assert all(info.is_duplicate for info in repeat_of_7)
