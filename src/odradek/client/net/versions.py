"""Which version of a request two ends speak. Pure."""

from collections.abc import Mapping

from odradek.errors import VersionsDiffer
from odradek.protocol.api_keys import APIS, ApiKey
from odradek.protocol.message import Message
from odradek.protocol.schema import Versions


def version_for(
    request: Message | type[Message], theirs: Mapping[int, Versions], peer: object, wanted: int | None = None
) -> int:
    """The highest version that both ends have, or the one that is wanted if both have it. Raises VersionsDiffer, which
    names the `peer`."""
    offered = theirs.get(request.API_KEY)
    first, last = request.VERSIONS
    if offered is not None:
        common = Versions(max(first, offered.first), min(last, offered.last))
        if common.first <= common.last if wanted is None else wanted in common:
            return common.last if wanted is None else wanted
    asked = f"version {wanted}" if wanted is not None else f"versions {first} to {last}"
    has = f"versions {offered}" if offered else "no version"
    name = APIS[ApiKey(request.API_KEY)].name if request.API_KEY in APIS else str(request.API_KEY)
    raise VersionsDiffer(f"{peer} has {has} of {name}, and {asked} would be needed")
