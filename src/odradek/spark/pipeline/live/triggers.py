"""Trigger intervals of flows: the settings, and flows that cannot keep their interval. Pure.

`pipelines.trigger.interval` of a flow counts most, then `--trigger`, then the setting in the spec; without any of them
a streaming flow takes records as soon as they are there, and a materialized view is refreshed every ten seconds.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from odradek.common.failures import InputError

SETTING = "pipelines.trigger.interval"

#: How often a materialized view is refreshed that has no interval.
VIEW_INTERVAL_MS = 10_000

_UNITS_MS = {
    "ms": 1,
    "millisecond": 1,
    "s": 1_000,
    "second": 1_000,
    "m": 60_000,
    "minute": 60_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "day": 86_400_000,
}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*")

#: So many batches in a row that take longer than their interval are reported: one alone says little.
_LATE_BATCHES = 3
#: And then again after so many more.
_REPORT_EVERY = 60


def parse_interval_ms(text: str, setting: str = SETTING) -> int:
    """Read an interval as Databricks and Spark write it: `10 seconds`, `1 minute`, `500ms`, `1 minute 30 seconds`."""
    rest, total_ms = text.lower().replace("'", "").strip().removeprefix("interval"), 0.0
    while rest or not total_ms:
        part = _PART.match(rest)
        unit = None if part is None else _UNITS_MS.get(part[2]) or _UNITS_MS.get(part[2].removesuffix("s"))
        if part is None or unit is None:
            raise InputError(f"{setting}: {text!r} is not an interval, such as '10 seconds', '1 minute' or '500 ms'")
        total_ms += float(part[1]) * unit
        rest = rest[part.end() :]
    return round(total_ms)


@dataclass(frozen=True, slots=True)
class Triggers:
    #: From the command line; None where it says nothing.
    common_ms: int | None
    #: From the spec.
    configuration: Mapping[str, str]

    def interval_ms(self, settings: Mapping[str, str], *, is_streaming: bool) -> int:
        """Return the interval of a flow with these settings; 0: as soon as there is data."""
        if SETTING in settings:
            return parse_interval_ms(settings[SETTING])
        if self.common_ms is not None:
            return self.common_ms
        if SETTING in self.configuration:
            return parse_interval_ms(self.configuration[SETTING])
        return 0 if is_streaming else VIEW_INTERVAL_MS


@dataclass(slots=True)
class LateTriggers:
    """Finds flows whose batches take longer than their trigger interval."""

    _late: dict[str, int] = field(default_factory=dict)

    def is_worth_reporting(self, flow: str, duration_ms: int, interval_ms: int) -> bool:
        if not interval_ms or duration_ms <= interval_ms:
            self._late.pop(flow, None)
            return False
        count = self._late[flow] = self._late.get(flow, 0) + 1
        return count == _LATE_BATCHES or count % _REPORT_EVERY == 0
