"""Numbers and times as a report shows them. Pure."""

from datetime import UTC, datetime, tzinfo


def count(number: float, noun: str) -> str:
    """1 row, 2 rows, 1,234 rows."""
    return f"{number:,.0f} {noun}" if number == 1 else f"{number:,.0f} {noun}s"


def duration(time_ms: float) -> str:
    """0.4 s, 12 s, 3 min 20 s, 2 h 5 min, 3 days."""
    seconds = time_ms / 1_000
    if seconds < 10:
        return f"{seconds:.1f} s"
    if round(seconds) < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return count(hours / 24, "day")


def size(number: int) -> str:
    amount = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1_000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1_000
    return f"{amount:.1f} TB"


class Clock:
    """Times in one zone: UTC, or that of the machine."""

    def __init__(self, *, utc: bool) -> None:
        self._zone: tzinfo | None = UTC if utc else None

    def at(self, time_ms: int) -> datetime:
        return datetime.fromtimestamp(time_ms / 1_000, UTC).astimezone(self._zone)

    def date(self, time_ms: int) -> str:
        return self.at(time_ms).strftime("%-d %B %Y")

    def time(self, time_ms: int) -> str:
        return self.at(time_ms).strftime("%H:%M:%S")

    def moment(self, time_ms: int) -> str:
        return self.at(time_ms).strftime("%-d %b %H:%M:%S")

    def zone(self, time_ms: int) -> str:
        return self.at(time_ms).tzname() or "local time"
