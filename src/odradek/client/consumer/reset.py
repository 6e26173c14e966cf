"""auto.offset.reset: where a consumer begins that has no position, or one that no longer exists. Pure."""

import re
from dataclasses import dataclass
from enum import Enum

from odradek.common.failures import InputError

_DURATION = re.compile(
    r"P(?:(?P<days>\d+)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?", re.I
)
_BY_DURATION = "by_duration:"


class ResetKind(Enum):
    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"
    BY_DURATION = "by_duration"


@dataclass(frozen=True, slots=True)
class ResetStrategy:
    kind: ResetKind
    #: Of by_duration: how far back from now.
    duration_ms: int = 0

    def __str__(self) -> str:
        return f"{_BY_DURATION}{self.duration_ms} ms" if self.kind is ResetKind.BY_DURATION else self.kind.value


EARLIEST = ResetStrategy(ResetKind.EARLIEST)
LATEST = ResetStrategy(ResetKind.LATEST)
NO_RESET = ResetStrategy(ResetKind.NONE)


def reset_strategy(text: str) -> ResetStrategy:
    """Of the setting's value. Raises InputError."""
    lowered = text.strip().lower()
    if lowered.startswith(_BY_DURATION):
        return ResetStrategy(ResetKind.BY_DURATION, _duration_ms(text.strip()[len(_BY_DURATION) :]))
    for strategy in (EARLIEST, LATEST, NO_RESET):
        if strategy.kind.value == lowered:
            return strategy
    raise InputError(
        f'auto.offset.reset: "{text}" is none of earliest, latest, none and by_duration:<ISO 8601 duration>, such as '
        "by_duration:PT1H"
    )


def _duration_ms(text: str) -> int:
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        raise InputError(
            f'auto.offset.reset: "{text}" is no ISO 8601 duration; PT1H is an hour, P1DT12H a day and a half'
        )
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
