"""Addresses with names or ids, as a node's file has them: listeners and voters."""

import re
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import NamedTuple, TypeVar

from odradek.common.addresses import HOST, BadAddress, HostPort, parse_host_port, parse_port
from odradek.common.ids import uuid_from_text

_Item = TypeVar("_Item", bound=Hashable)

_LISTENER = re.compile(rf"(.*)://{HOST}:(-?[0-9]+)", re.ASCII)


class Listener(NamedTuple):
    """An empty host is every address of the machine, and its own name where it is told to others. Port 0 is any free
    one, known once it is bound."""

    name: str
    protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.name}://{HostPort(self.host, self.port)}"


class VoterAddress(NamedTuple):
    """`directory_id` is None for static voters, who are known by their node alone."""

    id: int
    address: HostPort
    directory_id: bytes | None = None


def parse_listener(text: str) -> tuple[str, HostPort]:
    """Name, in capitals, and address."""
    match = _LISTENER.fullmatch(text)
    if match is None:
        raise BadAddress(f'"{text}" is no listener.')
    return match[1].upper(), HostPort(match[2], parse_port(match[3], text))


def parse_voter(text: str) -> VoterAddress:
    """`id@host:port`."""
    voter_id, at, address = text.partition("@")
    if not at or "@" in address:
        raise BadAddress(f'"{text}" has no id.' if not at else f'"{text}" has more than one @.')
    if not re.fullmatch(r"[0-9]+", voter_id, re.ASCII):
        raise BadAddress(f'"{text}": "{voter_id}" is not the id of a node.')
    try:
        return VoterAddress(int(voter_id), parse_host_port(address))
    except BadAddress as error:
        raise BadAddress(str(error).replace(f'"{address}"', f'"{text}"')) from None


def parse_initial_controller(text: str) -> VoterAddress:
    """`id@host:port:directory`, the directory as a uuid."""
    address, _, directory = text.strip().rpartition(":")
    try:
        directory_id = uuid_from_text(directory)
    except ValueError:
        raise BadAddress(f'"{text}" does not end in the id of a directory.') from None
    voter = parse_voter(address)
    return VoterAddress(voter.id, voter.address, directory_id)


def repeated(items: Iterable[_Item]) -> list[_Item]:
    """Return the items that occur more than once, in the order of their first occurrence."""
    return [item for item, count in Counter(items).items() if count > 1]
