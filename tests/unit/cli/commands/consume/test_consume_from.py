"""`--from`."""

import pytest

from odradek.cli.commands.consume.consume_from import Start, StartKind, parse_start
from odradek.common.failures import InputError


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("earliest", Start(StartKind.EARLIEST)),
        ("latest", Start(StartKind.LATEST)),
        ("12", Start(StartKind.OFFSET, 12)),
        ("-12", Start(StartKind.BEFORE_END, 12)),
        ("@1000", Start(StartKind.TIME, 1_000)),
        ("@1970-01-01T00:00:02+00:00", Start(StartKind.TIME, 2_000)),
    ],
)
def test_where_to_begin(text: str, start: Start) -> None:
    assert parse_start(text) == start
    assert start.reset == ("latest" if text == "latest" else "earliest")


@pytest.mark.parametrize("text", ["", "beginning", "--1", "1.5", "@", "@yesterday"])
def test_no_place_to_begin(text: str) -> None:
    with pytest.raises(InputError, match="is not a start position"):
        parse_start(text)


def test_seconds_are_not_taken_for_milliseconds() -> None:
    with pytest.raises(InputError, match="in milliseconds it is @1763287000000"):
        parse_start("@1763287000")
