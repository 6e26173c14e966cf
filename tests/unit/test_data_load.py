"""The checker of what was acknowledged under faults finds each kind of wrong."""

import pytest

from support.loads.data_load import DataLoad, Place

LOG: dict[Place, bytes] = {(0, 0): b"0:0", (0, 1): b"1:0", (0, 2): b"0:3", (1, 0): b"0:1", (1, 1): b"0:4"}


def load_of(acknowledged: dict[Place, bytes], *, somewhere: bytes | None = None) -> DataLoad:
    load = DataLoad("nowhere:1", "topic", 2)
    load.acknowledged = dict(acknowledged)
    load.acknowledged_somewhere = [] if somewhere is None else [somewhere]
    load.seen = dict(LOG)
    return load


def test_nothing_is_wrong_with_what_is_there() -> None:
    load_of(LOG, somewhere=b"1:0").verdict(LOG).check()


@pytest.mark.parametrize(
    ("wrong", "log"),
    [
        ("lost", {place: value for place, value in LOG.items() if value != b"0:4"}),
        ("duplicate", {**LOG, (1, 2): b"0:4"}),
        ("inconsistent_offsets", {**LOG, (1, 0): b"0:4", (1, 1): b"0:1"}),
        ("nonmonotonic", {**LOG, (0, 0): b"0:3", (0, 2): b"0:0"}),
        ("unstable_reads", {**LOG, (0, 1): b"1:9"}),
    ],
)
def test_what_is_wrong_is_counted(wrong: str, log: dict[Place, bytes]) -> None:
    verdict = load_of(LOG).verdict(log)
    assert getattr(verdict, wrong) > 0
    with pytest.raises(AssertionError, match=f"'{wrong}': [1-9]"):
        verdict.check()


def test_a_record_that_is_somewhere_must_be_there() -> None:
    assert load_of(LOG, somewhere=b"1:7").verdict(LOG).lost == 1
