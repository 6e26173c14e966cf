"""Selection of the version of a request that both ends support. Pure."""

from collections.abc import Mapping

from odradek.errors import VersionsDiffer
from odradek.protocol.api_keys import APIS, ApiKey
from odradek.protocol.message import Message
from odradek.protocol.schema import Versions


def version_for(
    request: Message | type[Message], theirs: Mapping[int, Versions], peer: object, requested: int | None = None
) -> int:
    """The highest version that both ends have, or the one that is wanted if both have it. Raises VersionsDiffer, which
    names the `peer`."""
    offered = theirs.get(request.API_KEY)
    first, last = request.VERSIONS
    if offered is not None:
        common = Versions(max(first, offered.first), min(last, offered.last))
        if common.first <= common.last if requested is None else requested in common:
            return common.last if requested is None else requested
    versions = f"version {requested}" if requested is not None else f"versions {first} to {last}"
    has = f"versions {offered}" if offered else "no version"
    name = APIS[ApiKey(request.API_KEY)].name if request.API_KEY in APIS else str(request.API_KEY)
    raise VersionsDiffer(f"{peer} has {has} of {name}, and {versions} would be needed")
