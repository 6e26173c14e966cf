"""Times as people write them."""

from datetime import datetime


def parse_moment(text: str) -> int | None:
    """Milliseconds since 1970, or a time of the calendar: local, unless it says its zone. None for what is no time."""
    plain = text.removeprefix("@")
    if plain.isdecimal():
        return int(plain)
    try:
        return int(datetime.fromisoformat(plain).astimezone().timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
