"""Values of settings that are more than text, a number or yes and no. Pure."""

import re
from dataclasses import dataclass
from enum import Enum

_BY_DURATION = "by_duration:"

#: Of ISO 8601 what Java's Duration reads: days and smaller, fractions of a second.
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{1,9})?)S)?)?", re.ASCII | re.IGNORECASE)
_UNITS_MS = (86_400_000, 3_600_000, 60_000, 1_000)


class ResetStrategy(Enum):
    EARLIEST = "earliest"
    LATEST = "latest"
    #: An error instead.
    NONE = "none"
    BY_DURATION = "by_duration"


@dataclass(frozen=True, slots=True)
class OffsetReset:
    """auto.offset.reset: where to begin without a committed offset, or with one that is not there any more."""

    strategy: ResetStrategy
    #: With BY_DURATION: at the first record that is not older.
    duration_ms: int | None = None


class IsolationLevel(Enum):
    """Values are the protocol's."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


def parse_offset_reset(text: str) -> OffsetReset | None:
    """None for a duration that is none."""
    if not text.startswith(_BY_DURATION):
        return OffsetReset(ResetStrategy(text))
    duration_ms = _duration_ms(text.removeprefix(_BY_DURATION))
    return None if duration_ms is None else OffsetReset(ResetStrategy.BY_DURATION, duration_ms)


def _duration_ms(text: str) -> int | None:
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.groups()) or text[-1] in "Tt":
        return None
    return int(sum(float(part or 0) * unit_ms for part, unit_ms in zip(match.groups(), _UNITS_MS, strict=True)))
