"""Addresses as people write them: `host:port`, and several of them separated by commas."""

import re
from typing import NamedTuple

from odradek.common.failures import InputError

#: All addresses of the machine; nobody can connect to it, so it is never told to others.
NOT_ROUTABLE = "0.0.0.0"

#: With or without brackets, which only an address with colons needs.
HOST = r"\[?([0-9a-zA-Z\-%._:]*)\]?"

_MAX_PORT = 65_535
_HOST_PORT = re.compile(rf"(?:[0-9a-zA-Z\-%._]*://)?{HOST}:([0-9]+)", re.ASCII)


class HostPort(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class BadAddress(ValueError):
    """The text says what is wrong with it; what would be right depends on where it stands."""


def parse_host_port(text: str) -> HostPort:
    match = _HOST_PORT.fullmatch(text)
    if match is None:
        _, colon, port = text.rpartition(":")
        if not colon or not port or text.endswith("]"):
            raise BadAddress(f'"{text}" has no port.')
        is_number = re.fullmatch(r"[0-9]+", port, re.ASCII) is not None
        raise BadAddress(f'"{text}" is no address.' if is_number else f'"{text}": "{port}" is no port.')
    if not match[1] or match[1] == NOT_ROUTABLE:
        raise BadAddress(f'"{text}" has no host.' if not match[1] else f'"{text}": nobody can connect to {match[1]}.')
    return HostPort(match[1], parse_port(match[2], text))


def parse_port(text: str, address: str) -> int:
    """`whole` is what the port stands in, for the message."""
    port = int(text)
    if not 0 <= port <= _MAX_PORT:
        raise BadAddress(f'"{address}": {port} is no port; ports end at {_MAX_PORT}.')
    return port


def parse_bootstrap(text: str, where: str) -> tuple[HostPort, ...]:
    """`host:port[,host:port…]`. Raises InputError, which begins with `where` it stood."""
    try:
        addresses = [parse_host_port(part.strip()) for part in text.split(",") if part.strip()]
    except BadAddress as error:
        raise InputError(f"{where}: {error} Right would be host:port, or several separated by commas.") from None
    if not addresses:
        raise InputError(f"{where}: there is no address. Right would be host:port, or several separated by commas.")
    return tuple(dict.fromkeys(addresses))
