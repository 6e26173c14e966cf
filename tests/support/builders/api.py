"""Handlers asked as a connection asks them: bytes in, bytes out, with a real controller behind them or a quorum that a
test speaks for."""

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any

from odradek.api.dispatch import envelope_codec
from odradek.api.dispatch.context import ANONYMOUS, Context, Services, Session
from odradek.api.dispatch.error_responses import error_response
from odradek.api.dispatch.registry import Registry
from odradek.api.dispatch.services import Node
from odradek.common.failures import ApiError
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.codec import decode, encode, schema_of
from odradek.protocol.message import Message
from odradek.protocol.messages.envelope_response import EnvelopeResponse
from odradek.protocol.registry import request_class, response_class
from odradek.protocol.schema import Field, Versions
from support.builders.controller import Bench


@dataclass
class BenchController:
    """`facades.Controller` on a controller whose log commits at once."""

    bench: Bench
    #: (request, deadline_ms), as they came.
    asked: list[tuple[Message, int | None]] = field(default_factory=list)
    lost: list[tuple[int, int]] = field(default_factory=list)

    async def handle(self, request: Message, *, deadline_ms: int | None = None) -> Any:
        self.asked.append((request, deadline_ms))
        return self.bench.ask(request)

    def heartbeat_connection_lost(self, broker_id: int, broker_epoch: int) -> None:
        self.lost.append((broker_id, broker_epoch))


@dataclass
class SpokenQuorum:
    """`facades.Quorum` that answers what it is told to."""

    answer: Message | ApiError | None = None
    leader_epoch: int = 1
    known_leader: Node | None = None
    asked: list[tuple[Message, int, str]] = field(default_factory=list)

    async def handle(self, request: Message, version: int, listener_name: str) -> Any:
        self.asked.append((request, version, listener_name))
        if isinstance(self.answer, ApiError):
            raise self.answer
        return self.answer

    def leader(self) -> Node | None:
        return self.known_leader

    def voters(self) -> list[Node]:
        return []


@dataclass
class ToController:
    """`facades.Forwarder` to a controller's listener, by its Envelope."""

    services: Services
    controller_versions: Mapping[int, Versions] | None = None
    error: ApiError | None = None
    asked: list[tuple[bytes, str, str, int]] = field(default_factory=list)

    async def forward(self, request: bytes, principal: str, client_address: str, timeout_ms: int) -> bytes:
        self.asked.append((request, principal, client_address, timeout_ms))
        if self.error is not None:
            raise self.error
        envelope = envelope_codec.wrap(request, principal, client_address)
        asking = session(self.services, ListenerRole.CONTROLLER)
        context = Context(asking, ApiKey.ENVELOPE, 0, 1, "broker", ANONYMOUS)
        answer: Any = asking.registry.entry(ApiKey.ENVELOPE).handle(context, envelope)
        response = await answer
        assert isinstance(response, EnvelopeResponse)
        return envelope_codec.unwrap(response)

    async def send(self, request: Message, timeout_ms: int) -> Any:
        raise NotImplementedError


def session(services: Services, listener: ListenerRole = ListenerRole.CONTROLLER, number: int = 0) -> Session:
    return Session(
        connection_id=f"here-there-{number}",
        listener_name=listener.name,
        listener=listener,
        security_protocol="PLAINTEXT",
        client_address="127.0.0.1",
        registry=Registry(listener),
        services=services,
    )


def bench_services(bench: Bench, quorum: SpokenQuorum | None = None, **more: Any) -> Services:
    return Services(
        controller=BenchController(bench),
        quorum=SpokenQuorum() if quorum is None else quorum,
        image=lambda: bench.controller.loader.image,
        clock=bench.clock,
        cluster_id="SimulatedCluster--1234",
        node_id=1,
        **more,
    )


def ask(asking: Session, request: Message, version: int | None = None, principal: str = ANONYMOUS) -> Any:
    """The response as the peer reads it; what the handler raises becomes one, too."""
    version = asking.registry.accepted[request.API_KEY].last if version is None else version
    read = decode(request_class(request.API_KEY), version, encode(request, version))
    context = Context(asking, request.API_KEY, version, 7, "test", principal)
    response: Message | None
    try:
        answer = asking.registry.entry(request.API_KEY).handle(context, read)
        response = answer if answer is None or isinstance(answer, Message) else asyncio.run(_awaited(answer))
    except ApiError as error:
        response = error_response(request.API_KEY, version, error, read)
    assert response is not None
    return decode(response_class(request.API_KEY), version, encode(response, version))


async def _awaited(answer: Awaitable[Message | None]) -> Message | None:
    return await answer


def full_request(api_key: int, version: int) -> Message:
    """A request in which every list has an element and every field that may be null is not."""
    message_class = request_class(api_key)
    schema = schema_of(message_class)
    module = __import__(message_class.__module__, fromlist=["*"])

    def filled(target: Any, fields: tuple[Field, ...]) -> Any:
        for one in fields:
            if version in one.versions:
                setattr(target, one.name, [element(one)] if one.is_array else element(one))
        return target

    def element(one: Field) -> Any:
        if one.is_struct:
            return filled(getattr(module, one.element)(), schema.structs[one.element])
        samples = {"string": "a", "bool": False, "bytes": b"b", "records": b"", "uuid": b"u" * 16, "float64": 1.5}
        return samples.get(one.element, 1)

    return filled(message_class(), schema.fields)  # type: ignore[no-any-return]


def codes_in(message: Message) -> list[int]:
    """Every error code in a message, at the top and below."""
    found = []
    for name in message.field_names():
        value = getattr(message, name)
        if name in ("error_code", "partition_error_code"):
            found.append(value)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, Message):
                found += codes_in(one)
    return found
