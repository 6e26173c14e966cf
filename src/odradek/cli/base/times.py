"""Points in time as arguments."""

from datetime import datetime


def parse_timestamp(text: str) -> int | None:
    """Return ms since 1970 from such a number or from an ISO time, which is local time unless it has a zone.

    Return None for malformed text.
    """
    plain = text.removeprefix("@")
    if plain.isdecimal():
        return int(plain)
    try:
        return int(datetime.fromisoformat(plain).astimezone().timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
