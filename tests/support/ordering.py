"""The order of tests for several workers.

Each worker is given one share of the row, all as long, and whoever has none left takes over the end of another's
(`--dist worksteal`). So a share begins with its part of the slow files, first those with nodes, which take longest, and
ends with quick tests: what is left to take over in the end is short, and no worker waits for the last long test of
another. A file stays together, for its tests may share nodes.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TypeVar

T = TypeVar("T")


def dealt(
    tests: Iterable[T],
    shares: int,
    *,
    file_of: Callable[[T], str],
    is_slow: Callable[[T], bool],
    is_first: Callable[[str], bool],
) -> list[T]:
    """`is_first` is asked of slow files. One slow test makes a file slow."""
    files: dict[str, list[T]] = {}
    for test in tests:
        files.setdefault(file_of(test), []).append(test)
    slow = [name for name, content in files.items() if any(map(is_slow, content))]
    slow.sort(key=lambda name: not is_first(name))
    quick = list(chain.from_iterable(content for name, content in files.items() if name not in slow))
    begun = [[test for name in slow[number::shares] for test in files[name]] for number in range(shares)]
    return list(chain.from_iterable(_filled(begun, quick)))


def _filled(begun: Sequence[list[T]], quick: list[T]) -> list[list[T]]:
    """To the same length, as far as the quick ones go. The last one gets what is left, if that is one more."""
    length = (sum(map(len, begun)) + len(quick)) // len(begun)
    filled = []
    for number, share in enumerate(begun):
        count = len(quick) if number == len(begun) - 1 else max(0, length - len(share))
        filled.append(share + quick[:count])
        quick = quick[count:]
    return filled
