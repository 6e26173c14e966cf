import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.common.failures import ProtocolError
from odradek.protocol import primitives as p

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)


@given(INT32)
def test_varint(value: int) -> None:
    written = p.write_varint(value)
    assert len(written) == p.varint_bytes(value)
    assert p.read_varint(b"?" + written + b"?", 1) == (value, 1 + len(written))


@given(INT64)
def test_varlong(value: int) -> None:
    written = p.write_varlong(value)
    assert len(written) == p.varlong_bytes(value)
    assert p.read_varlong(memoryview(written), 0) == (value, len(written))


@given(st.integers(0, 2**32 - 1))
def test_uvarint(value: int) -> None:
    written = p.write_uvarint(value)
    assert len(written) == p.uvarint_bytes(value)
    assert p.read_uvarint(written, 0) == (value, len(written))


@given(st.integers(0, 2**64 - 1))
def test_uvarlong(value: int) -> None:
    written = p.write_uvarint(value)
    assert p.read_uvarlong(written, 0) == (value, len(written))


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (-64, "7f"), (64, "8001"), (2**31 - 1, "feffffff0f")],
)
def test_zigzag_is_as_the_record_format_has_it(value: int, encoded: str) -> None:
    assert p.write_varint(value).hex() == encoded


def test_padding_is_accepted_up_to_the_width_of_the_type() -> None:
    assert p.read_uvarint(bytes.fromhex("8100"), 0) == (1, 2)
    assert p.read_uvarint(bytes.fromhex("8180808000"), 0) == (1, 5)


@pytest.mark.parametrize("encoded", ["808080808000", "ffffffff10", "ffffffffff01"])
def test_what_is_wider_than_32_bits_is_refused(encoded: str) -> None:
    with pytest.raises(ProtocolError, match="longer than its type"):
        p.read_uvarint(bytes.fromhex(encoded), 0)


@pytest.mark.parametrize("encoded", ["80" * 10 + "00", "ff" * 9 + "02"])
def test_what_is_wider_than_64_bits_is_refused(encoded: str) -> None:
    with pytest.raises(ProtocolError, match="longer than its type"):
        p.read_varlong(bytes.fromhex(encoded), 0)


@pytest.mark.parametrize("encoded", ["", "80", "ffffff"])
def test_a_varint_that_is_cut_off(encoded: str) -> None:
    with pytest.raises(ProtocolError, match="beyond the end"):
        p.read_varint(bytes.fromhex(encoded), 0)
