"""The order of tests for several workers: nothing is lost, and every share begins with slow ones."""

import pytest

from support.ordering import dealt

TESTS = [
    *(f"sim/{file}.slow {number}" for file in "ab" for number in range(3)),
    *(f"system/{file}.{speed} {number}" for file in "cdef" for speed in ("quick", "slow") for number in range(2)),
    *(f"unit/{file}.quick {number}" for file in "ghij" for number in range(10)),
]


def files_of(tests: list[str]) -> list[str]:
    return [test.split(".")[0] for test in tests]


def deal(shares: int) -> list[str]:
    return dealt(
        TESTS,
        shares,
        file_of=lambda test: test.split(".")[0],
        is_slow=lambda test: "slow" in test,
        is_first=lambda name: name.startswith("system"),
    )


@pytest.mark.parametrize("shares", [1, 2, 3, 4, 7])
def test_every_test_is_there_once(shares: int) -> None:
    assert sorted(deal(shares)) == sorted(TESTS)


def test_every_share_begins_with_slow_files_and_ends_with_quick_ones() -> None:
    row = deal(2)
    length = len(TESTS) // 2
    for share, first, second in ((row[:length], "ce", "a"), (row[length:], "df", "b")):
        slow = [f"system/{file}" for file in first for _ in range(4)] + [f"sim/{second}"] * 3
        assert files_of(share)[: len(slow)] == slow
        assert all(name.startswith("unit/") for name in files_of(share)[len(slow) :])


def test_where_nobody_shares_slow_files_come_first() -> None:
    assert list(dict.fromkeys(files_of(deal(1)))) == [
        *(f"system/{file}" for file in "cdef"),
        *(f"sim/{file}" for file in "ab"),
        *(f"unit/{file}" for file in "ghij"),
    ]
