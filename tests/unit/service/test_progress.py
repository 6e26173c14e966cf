"""Which offset may be committed."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.common.failures import Fault
from odradek.service.progress import Progress


def test_the_lowest_unfinished_message_holds_the_offset() -> None:
    progress = Progress()
    for offset in (5, 6, 9):
        progress.begin(offset)
    assert progress.committable is None
    progress.finish(6)
    assert (progress.committable, progress.unfinished) == (None, 2)
    progress.finish(5)
    assert (progress.committable, progress.lowest_unfinished) == (7, 9)
    progress.committed(7)
    assert progress.committable is None
    progress.finish(9)
    assert (progress.committable, progress.unfinished, progress.lowest_unfinished) == (10, 0, None)


def test_what_a_commit_would_say_changes_nothing() -> None:
    progress = Progress()
    for offset in (0, 1, 2, 3):
        progress.begin(offset)
    progress.finish(1)
    assert progress.committable_with({0, 2}) == 3
    assert progress.committable_with({3}) is None
    assert progress.committable is None
    progress.committed(3)
    assert progress.committable_with({0, 2}) is None


def test_what_is_not_in_hand_cannot_be_finished() -> None:
    progress = Progress()
    progress.begin(0)
    progress.finish(0)
    with pytest.raises(Fault):
        progress.finish(0)


@settings(max_examples=50)
@given(st.sets(st.integers(0, 40), min_size=1), st.randoms(use_true_random=False))
def test_nothing_unfinished_is_ever_passed_over(offsets: set[int], randomness: Random) -> None:
    progress = Progress()
    for offset in sorted(offsets):
        progress.begin(offset)
    order = sorted(offsets)
    randomness.shuffle(order)
    for index, offset in enumerate(order):
        progress.finish(offset)
        unfinished = order[index + 1 :]
        if progress.committable is not None:
            assert progress.committable <= min(unfinished, default=max(offsets) + 1)
            assert not [each for each in unfinished if each < progress.committable]
    assert progress.committable == max(offsets) + 1
