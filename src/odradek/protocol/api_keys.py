"""The APIs: their keys, and the versions that each kind of listener knows.

What a listener *advertises* (its answer to ApiVersions) and what it *accepts* are two things: Produce is advertised
from version 0, since some clients give up on a broker that does not, but versions before 3 are refused when they come.
And a newer version of a message may exist that no listener takes yet. Only what is both advertised and in the message's
own range is accepted.
"""

from collections.abc import Mapping
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from odradek.protocol.api_table import ADVERTISED, ApiKey
from odradek.protocol.message_index import MESSAGES
from odradek.protocol.schema import Versions

__all__ = ["APIS", "ApiKey", "ApiSpec", "ListenerRole", "accepted_versions"]


class ListenerRole(Enum):
    BROKER = "broker"
    CONTROLLER = "controller"


class ApiSpec(NamedTuple):
    key: ApiKey
    #: Kafka's name: "Produce", "ListOffsets".
    name: str
    #: The versions that the messages have.
    versions: Versions
    #: What each listener advertises; None where the API is not there.
    broker: Versions | None
    controller: Versions | None

    def advertised(self, listener: ListenerRole) -> Versions | None:
        return self.broker if listener is ListenerRole.BROKER else self.controller


def _apis() -> dict[ApiKey, ApiSpec]:
    apis = {}
    for key, (name, broker, controller) in ADVERTISED.items():
        *_, first, last = MESSAGES[f"{name}Request"]
        apis[ApiKey(key)] = ApiSpec(
            ApiKey(key),
            name,
            Versions(first, last),
            Versions(*broker) if broker else None,
            Versions(*controller) if controller else None,
        )
    return apis


#: By key, in ascending order.
APIS: Mapping[ApiKey, ApiSpec] = MappingProxyType(_apis())


@cache
def accepted_versions(listener: ListenerRole) -> Mapping[int, Versions]:
    """What a listener parses, by key."""
    accepted: dict[int, Versions] = {}
    for api in APIS.values():
        advertised = api.advertised(listener)
        if advertised is not None:
            first, last = max(advertised.first, api.versions.first), min(advertised.last, api.versions.last)
            accepted[int(api.key)] = Versions(first, last)
    return MappingProxyType(accepted)
