import pytest

from odradek.coordinator.runtime.keys import java_hash, partition_for


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("my-group", -1906497762),
        ("console-consumer-12345", 158455506),
        ("größe", 98762257),
        ("日本語", 25921943),
        ("\U0001f600", 1772899),
        ("polygenelubricants", -(2**31)),
    ],
)
def test_the_hash_is_javas(text: str, expected: int) -> None:
    """Expected values are those of `String.hashCode`."""
    assert java_hash(text) == expected


def test_a_partition_is_never_negative() -> None:
    assert partition_for("console-consumer-12345", 50) == 6
    assert partition_for("polygenelubricants", 50) == 0
    assert partition_for("my-group", 50) == 12
