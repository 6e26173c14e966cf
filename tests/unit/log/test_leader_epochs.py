"""The leader-epoch cache, by example and against a naive model."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from odradek.common.failures import Fault
from odradek.common.system_clock import SystemClock
from odradek.log.leader_epochs import EpochEnd, LeaderEpochs
from odradek.log.manager.checkpoint_files import EpochEntry, read_epoch_checkpoint
from odradek.sim.world.disk import SimulatedDisk
from support.builders.segments import FILES

EPOCHS = st.integers(0, 12)
OFFSETS = st.integers(0, 40)


def cache_of(directory: Path, *entries: tuple[int, int]) -> LeaderEpochs:
    return LeaderEpochs(FILES, str(directory), [EpochEntry(*entry) for entry in entries])


def test_end_offsets(tmp_path: Path) -> None:
    cache = cache_of(tmp_path, (2, 6), (4, 11), (7, 20))
    answers = {epoch: cache.end_offset_for(epoch, log_end_offset=30) for epoch in range(-1, 10)}
    assert answers == {
        -1: EpochEnd(-1, -1),  # undefined
        0: EpochEnd(0, 6),  # before the first: itself, and the start of the first
        1: EpochEnd(1, 6),
        2: EpochEnd(2, 11),
        3: EpochEnd(2, 11),  # between two: the one below
        4: EpochEnd(4, 20),
        5: EpochEnd(4, 20),
        6: EpochEnd(4, 20),
        7: EpochEnd(7, 30),  # the latest ends with the log
        8: EpochEnd(-1, -1),  # not known yet
        9: EpochEnd(-1, -1),
    }


def test_an_empty_cache_knows_nothing(tmp_path: Path) -> None:
    cache = cache_of(tmp_path)
    assert cache.end_offset_for(0, 10) == EpochEnd(-1, -1)
    assert cache.latest_epoch is None
    assert cache.latest_entry is None
    assert cache.earliest_entry is None
    assert cache.previous_epoch() is None
    assert cache.next_epoch(0) is None
    assert cache.epoch_for_offset(5) is None


def test_neighbours(tmp_path: Path) -> None:
    cache = cache_of(tmp_path, (2, 6), (4, 11), (7, 20))
    assert cache.latest_entry == (7, 20)
    assert cache.earliest_entry == (2, 6)
    assert cache.previous_epoch() == 4
    assert [cache.previous_epoch(epoch) for epoch in (1, 2, 3, 5, 9)] == [None, None, 2, 4, 7]
    assert [cache.next_epoch(epoch) for epoch in (0, 2, 4, 7)] == [2, 4, 7, None]
    assert cache.previous_entry(7) == (4, 11)
    assert (cache.entry(4), cache.entry(5)) == ((4, 11), None)
    assert [cache.epoch_for_offset(offset) for offset in (5, 6, 10, 11, 19, 20, 99)] == [None, 2, 2, 4, 4, 7, 7]


def test_assigning_is_durable_at_once_and_the_same_again_writes_nothing() -> None:
    disk = SimulatedDisk(SystemClock())
    disk.make_dirs("/p")
    cache = LeaderEpochs(disk, "/p")
    cache.assign(1, 5)
    assert read_epoch_checkpoint(disk, "/p") == [(1, 5)]
    operations = len(disk.journal)
    cache.assign(1, 5)
    cache.assign(1, 9)
    assert len(disk.journal) == operations
    cache.assign(2, 9)
    assert read_epoch_checkpoint(disk, "/p") == [(1, 5), (2, 9)]
    kinds = [operation.kind for operation in disk.journal[operations:]]
    assert kinds.index("sync") < kinds.index("rename") < kinds.index("sync_dir")


def test_an_entry_pushes_out_those_it_contradicts(tmp_path: Path) -> None:
    cache = cache_of(tmp_path, (1, 5), (2, 10), (3, 15))
    cache.assign(4, 10)
    assert cache.entries() == [(1, 5), (4, 10)]
    cache.assign(2, 30)
    assert cache.entries() == [(1, 5), (2, 30)]
    cache.assign(2, 3)
    assert cache.entries() == [(2, 3)]


@pytest.mark.parametrize("entry", [(-1, 0), (0, -1)])
def test_negative_entries_are_a_fault(tmp_path: Path, entry: tuple[int, int]) -> None:
    with pytest.raises(Fault, match="neither may be negative"):
        cache_of(tmp_path).assign(*entry)


def test_truncations_are_written_when_flushed(tmp_path: Path) -> None:
    cache = cache_of(tmp_path)
    cache.assign_all([EpochEntry(1, 5), EpochEntry(2, 10), EpochEntry(3, 15)])
    cache.truncate_from_end(10)
    assert cache.entries() == [(1, 5)]
    assert LeaderEpochs.load(FILES, str(tmp_path)).entries() == [(1, 5), (2, 10), (3, 15)]
    assert cache.dirty
    cache.flush()
    assert not cache.dirty
    assert LeaderEpochs.load(FILES, str(tmp_path)).entries() == [(1, 5)]


def test_truncation_from_the_start_keeps_the_epoch_that_spans_it(tmp_path: Path) -> None:
    for start, expected in [
        (4, [(1, 5), (2, 10), (3, 15)]),
        (5, [(1, 5), (2, 10), (3, 15)]),
        (7, [(1, 7), (2, 10), (3, 15)]),
        (10, [(2, 10), (3, 15)]),
        (12, [(2, 12), (3, 15)]),
        (99, [(3, 99)]),
    ]:
        cache = cache_of(tmp_path, (1, 5), (2, 10), (3, 15))
        cache.truncate_from_start(start)
        assert cache.entries() == expected


def test_entries_in_range(tmp_path: Path) -> None:
    cache = cache_of(tmp_path, (1, 5), (2, 10), (3, 15))
    assert cache.entries_in_range(7, 15) == [(1, 7), (2, 10)]
    assert cache.entries_in_range(-1, -1) == cache.entries()
    assert cache.entries_in_range(12, 13) == [(2, 12)]
    assert cache.entries() == [(1, 5), (2, 10), (3, 15)]


def test_a_renamed_directory_is_written_to(tmp_path: Path) -> None:
    cache = cache_of(tmp_path)
    cache.assign(1, 1)
    (tmp_path / "other").mkdir()
    cache.update_directory(str(tmp_path / "other"))
    cache.clear_and_flush()
    assert LeaderEpochs.load(FILES, str(tmp_path / "other")).entries() == []
    assert LeaderEpochs.load(FILES, str(tmp_path)).entries() == [(1, 1)]


@given(st.lists(st.tuples(EPOCHS, OFFSETS), max_size=15), st.integers(-1, 14), st.integers(40, 60))
def test_answers_agree_with_a_scan(entries: list[tuple[int, int]], epoch: int, end: int) -> None:
    disk = SimulatedDisk(SystemClock())
    cache = LeaderEpochs(disk, "/p", [EpochEntry(*entry) for entry in entries])
    known = cache.entries()
    above = [entry for entry in known if entry.epoch > epoch]
    below = [entry for entry in known if entry.epoch <= epoch]
    if epoch == -1 or not known or epoch > known[-1].epoch:
        expected = (-1, -1)
    elif not above:
        expected = (epoch, end)
    else:
        expected = (below[-1].epoch if below else epoch, above[0].start_offset)
    assert cache.end_offset_for(epoch, end) == expected
    for offset in range(45):
        holding = [entry.epoch for entry in known if entry.start_offset <= offset]
        assert cache.epoch_for_offset(offset) == (holding[-1] if holding else None)


class EpochMachine(RuleBasedStateMachine):
    """A dictionary from epoch to start offset, searched from end to end, is the model."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = SimulatedDisk(SystemClock())
        self.disk.make_dirs("/p")
        self.cache = LeaderEpochs(self.disk, "/p")
        self.model: dict[int, int] = {}

    @rule(epoch=EPOCHS, offset=OFFSETS)
    def assign(self, epoch: int, offset: int) -> None:
        self.cache.assign(epoch, offset)
        latest = max(self.model, default=-1)
        if epoch != latest or offset < self.model[latest]:
            self.model = {e: s for e, s in self.model.items() if e < epoch and s < offset}
            self.model[epoch] = offset
        written = dict(read_epoch_checkpoint(self.disk, "/p"))[epoch]
        assert written == self.model[epoch] or (self.cache.dirty and written < self.model[epoch])

    @rule(offset=st.integers(-1, 40))
    def truncate_from_end(self, offset: int) -> None:
        self.cache.truncate_from_end(offset)
        if offset >= 0:
            self.model = {e: s for e, s in self.model.items() if s < offset}

    @rule(offset=OFFSETS)
    def truncate_from_start(self, offset: int) -> None:
        self.cache.truncate_from_start(offset)
        ended = [e for e, s in self.model.items() if s <= offset]
        if ended:
            self.model = {e: s for e, s in self.model.items() if e not in ended}
            self.model[max(ended)] = offset

    @rule()
    def flush(self) -> None:
        self.cache.flush()
        assert read_epoch_checkpoint(self.disk, "/p") == sorted(self.model.items())

    @invariant()
    def same(self) -> None:
        assert self.cache.entries() == sorted(self.model.items())


TestEpochMachine = EpochMachine.TestCase
