"""A registry's prefix: bytes as Confluent's serializer makes them."""

import pytest

from odradek.client.schema_registry.framing import encode_indexes, encode_prefix, read_indexes, read_prefix


def test_a_value_names_its_schema() -> None:
    assert encode_prefix(258) == bytes((0, 0, 0, 1, 2))
    prefix = read_prefix(b"\0\0\0\1\2value")
    assert (prefix.schema_id, prefix.end) == (258, 5)


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"", "0 bytes are too few"), (b"\0\0\0\1", "4 bytes are too few"), (b'{"id":1}', "byte 123 instead of 0")],
)
def test_what_has_no_prefix_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_prefix(data)


@pytest.mark.parametrize(
    ("indexes", "written"), [((0,), b"\0"), ((1,), b"\2\2"), ((1, 0), b"\4\2\0"), ((64, 3), b"\4\x80\1\6")]
)
def test_indexes_say_which_message_it_is(indexes: tuple[int, ...], written: bytes) -> None:
    assert encode_indexes(indexes) == written
    assert read_indexes(b"12345" + written + b"value", 5) == (indexes, 5 + len(written))


def test_the_first_message_may_be_written_in_full() -> None:
    assert read_indexes(b"\2\0rest", 0) == ((0,), 2)


@pytest.mark.parametrize("data", [b"", b"\4\2", b"\xff", b"\xff" * 12, b"\1", b"\x82\4"])
def test_indexes_that_are_none(data: bytes) -> None:
    with pytest.raises(ValueError, match="message indexes"):
        read_indexes(data, 0)
