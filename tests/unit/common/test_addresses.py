"""Addresses of a cluster, as people write them."""

import pytest

from odradek.common.addresses import HostPort, parse_bootstrap
from odradek.common.failures import InputError


def test_one_or_several_addresses_each_once() -> None:
    assert parse_bootstrap("a:1", "--bootstrap") == (HostPort("a", 1),)
    assert parse_bootstrap("a:1, [::1]:2,a:1,,", "--bootstrap") == (HostPort("a", 1), HostPort("::1", 2))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("localhost", '"localhost" has no port.'),
        ("localhost:22x", '"localhost:22x": "22x" is no port.'),
        ("a:1,b:70000", '"b:70000": 70000 is no port'),
        ("0.0.0.0:9092", "nobody can connect to 0.0.0.0"),
        (":9092", '":9092" has no host.'),
        ("a b:9092", '"a b:9092" is no address.'),
        (",", "there is no address"),
        ("", "there is no address"),
    ],
)
def test_what_is_no_address_is_told_with_what_would_be_right(text: str, reason: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_bootstrap(text, "--bootstrap")
    assert str(raised.value).startswith("--bootstrap: ")
    assert reason in str(raised.value)
    assert "Right would be host:port" in str(raised.value)
