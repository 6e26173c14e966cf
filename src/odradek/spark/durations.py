"""Durations in Spark's notation: 500ms, 10s, 15m, 2h, 1d, or milliseconds without a unit. Pure."""

import re

from odradek.common.failures import InputError

_UNIT_MS = {"": 1, "us": 0.001, "ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}

_PATTERN = re.compile(r"\s*([0-9]+)\s*([a-z]*)\s*")


def parse_duration_ms(option: str, text: str) -> int:
    """Return the duration in milliseconds. Raise an InputError that names the option."""
    match = _PATTERN.fullmatch(text.lower())
    if match is None or match[2] not in _UNIT_MS:
        raise InputError(
            f"{option}: {text!r} is not a duration; expected a number with a unit, such as 500ms, 10s, 15m or 2h"
        )
    return int(int(match[1]) * _UNIT_MS[match[2]])
