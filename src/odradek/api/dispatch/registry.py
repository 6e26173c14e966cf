"""The registry of a listener: which APIs it serves, in which versions, and their handlers.

A handler is `handle(ctx, request)`: a plain function that returns the response, or a coroutine function. The result is
None where the protocol has no response (Produce with acks=0). Each handler is a module of `odradek.api.handlers`, which
declares its API (see `declaration`) and is imported with the first request for it, so that a node starts without
reading them all. `handler_index` lists them.

An API that is not listed is neither advertised nor accepted: a request for it closes the connection, as Kafka does for
an API that it does not have.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from odradek.api.dispatch.context import Context, Session
from odradek.common.failures import check
from odradek.protocol.api_keys import APIS, ApiKey, ListenerRole, accepted_versions
from odradek.protocol.message import Message
from odradek.protocol.schema import Versions

Answer = Message | None
#: The class of the request follows from the key.
Handler = Callable[[Context, Any], Answer | Awaitable[Answer]]
#: Takes a frame. Returns the frame of the response; or the response as a message; or None, with nothing done, if the
#: request is one for the handler.
Quick = Callable[[Session, bytearray], bytes | Message | None]


@dataclass(frozen=True, slots=True)
class ServedApi:
    """One API on the listeners that serve it: a handler's declaration and the handler itself."""

    key: ApiKey
    #: The function, or the full name of the module whose `handle` it is.
    handler: Handler | str
    versions: Versions | None = None
    listeners: tuple[ListenerRole, ...] | None = None
    long_poll: bool = False
    pipelined: bool = False
    repeats: bool = False
    quick: str | None = None

    def served_on(self, listener: ListenerRole) -> bool:
        if self.listeners is not None and listener not in self.listeners:
            return False
        return APIS[self.key].advertised(listener) is not None

    def advertised(self, listener: ListenerRole) -> Versions:
        versions = APIS[self.key].advertised(listener)
        check(versions is not None, f"{self.key.name} is served on a listener that has no such API")
        assert versions is not None
        return versions if self.versions is None else self.versions

    def accepted(self, listener: ListenerRole) -> Versions:
        accepted = accepted_versions(listener)[int(self.key)]
        narrowed = accepted if self.versions is None else self.versions
        return Versions(max(accepted.first, narrowed.first), min(accepted.last, narrowed.last))


class LoadedHandler:
    """A handler that was imported, with the flags of its API."""

    __slots__ = ("encoded", "handle", "long_poll", "pipelined", "repeats")

    def __init__(self, api: ServedApi) -> None:
        self.long_poll = api.long_poll
        self.pipelined = api.pipelined
        self.repeats = api.repeats
        #: The last response and its bytes, by version.
        self.encoded: dict[int, tuple[Message, bytes]] = {}
        self.handle: Handler = import_module(api.handler).handle if isinstance(api.handler, str) else api.handler


class Registry:
    """The APIs that one kind of listener serves."""

    def __init__(self, listener: ListenerRole, apis: Iterable[ServedApi] | None = None) -> None:
        """All APIs of the index are served unless `apis` is given."""
        from odradek.api.dispatch import handler_index  # which imports this module

        served = handler_index.SERVED if apis is None else apis
        self.listener = listener
        self._apis = {int(api.key): api for api in sorted(served, key=lambda api: api.key) if api.served_on(listener)}
        self._loaded: dict[int, LoadedHandler] = {}
        #: Functions for the usual request, by key, once there was a first request.
        self.quick: dict[int, Quick] = {}
        #: Versions that are parsed, by key.
        self.accepted: Mapping[int, Versions] = {key: api.accepted(listener) for key, api in self._apis.items()}
        #: Versions in the ApiVersions response, by ascending key.
        self.advertised: Mapping[int, Versions] = {key: api.advertised(listener) for key, api in self._apis.items()}

    def entry(self, api_key: int) -> LoadedHandler:
        """Return the handler, imported if need be. Raise KeyError for an API that is not served here."""
        loaded = self._loaded.get(api_key)
        if loaded is None:
            api = self._apis[api_key]
            loaded = self._loaded[api_key] = LoadedHandler(api)
            if api.quick is not None:
                self.quick[api_key] = import_module(api.quick).quick
        return loaded

    def is_long_poll(self, api_key: int) -> bool:
        api = self._apis.get(api_key)
        return api is not None and api.long_poll
