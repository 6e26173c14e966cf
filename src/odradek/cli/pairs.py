"""`key=value` on the command line, and lists of numbers."""

import re
from collections.abc import Sequence

from odradek.common.failures import InputError

_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?", re.ASCII)

#: More partitions than that have no cluster; a slip of the finger in a range should not fill the memory.
_NUMBERS_MAX = 1_000_000


def parse_pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise InputError(
                f'{option}: "{text}" is no setting. Right would be key=value, for example retention.ms=1000.'
            )
        values[key.strip()] = value
    return values


def parse_numbers(text: str, option: str) -> list[int]:
    """`0,2-4` is 0, 2, 3, 4."""
    numbers: list[int] = []
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        last = int(found[2] or found[1]) if found else 0
        if found is None or not int(found[1]) <= last < int(found[1]) + _NUMBERS_MAX:
            raise InputError(f'{option}: "{text}" is no list of numbers. Right would be 0,2-4 for 0, 2, 3 and 4.')
        numbers += range(int(found[1]), last + 1)
    return list(dict.fromkeys(numbers))
