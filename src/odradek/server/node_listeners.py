"""The listeners of a node: those of its controller and those of its broker, with limits from its configuration."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from odradek.api.dispatch.context import Services
from odradek.api.dispatch.registry import Registry
from odradek.common.failures import ApiError, Fault, InputError
from odradek.network.creation_rate import CreationRate
from odradek.network.endpoint import Endpoint
from odradek.network.limits import ConnectionQuotas, Limits, RequestBudget
from odradek.network.listener import Listener
from odradek.protocol import api_keys
from odradek.server.config import endpoints
from odradek.server.config.dynamic_rules import per_ip_overrides
from odradek.server.config.server_config import ServerConfig


@dataclass(frozen=True, slots=True)
class NodeListeners:
    #: Over all of them.
    quotas: ConnectionQuotas
    #: Of those for clients.
    creation_rate: CreationRate
    for_controllers: tuple[Listener, ...]
    for_clients: tuple[Listener, ...]

    @property
    def all(self) -> tuple[Listener, ...]:
        return (*self.for_controllers, *self.for_clients)

    @property
    def ports(self) -> dict[str, int]:
        """By name, once they are bound."""
        return {listener.endpoint.name: listener.port for listener in self.all}

    async def bind(self) -> None:
        for listener in self.all:
            await listener.bind()


def build_listeners(config: ServerConfig, services: Services, on_fault: Callable[[Fault], None]) -> NodeListeners:
    """Each role has a registry and a budget of requests of its own; connections are counted over all of them."""
    quotas = _quotas(config)
    creation_rate = CreationRate(config.settings.whole("max.connection.creation.rate"))
    paced = _paced(config)

    def build(listeners: Iterable[endpoints.Listener], kind: api_keys.ListenerRole) -> tuple[Listener, ...]:
        registry, budget = Registry(kind), _budget(config)
        return tuple(
            Listener(
                Endpoint(
                    listener.name,
                    registry,
                    services,
                    _limits(config),
                    quotas,
                    budget,
                    listener.protocol,
                    on_fault=on_fault,
                ),
                listener.host,
                listener.port,
                backlog=config.settings.whole("socket.listen.backlog.size"),
                creation_rate=creation_rate if listener.name in paced else None,
            )
            for listener in listeners
        )

    return NodeListeners(
        quotas,
        creation_rate,
        build(config.listeners.for_controllers, api_keys.ListenerRole.CONTROLLER),
        build(config.listeners.for_clients, api_keys.ListenerRole.BROKER) if config.is_broker else (),
    )


def _paced(config: ServerConfig) -> list[str]:
    """As in Kafka the brokers' own listener, where it is another one than the clients', is not held up by them."""
    names = [listener.name for listener in config.listeners.for_clients]
    own = config.listeners.inter_broker_name
    return [name for name in names if name != own or len(names) == 1]


def _limits(config: ServerConfig) -> Limits:
    whole = config.settings.whole
    return Limits(
        request_bytes_max=whole("socket.request.max.bytes"),
        unauthenticated_request_bytes_max=whole("sasl.server.max.receive.size"),
        idle_ms_max=whole("connections.max.idle.ms"),
        receive_buffer_bytes=whole("socket.receive.buffer.bytes"),
        send_buffer_bytes=whole("socket.send.buffer.bytes"),
    )


def _quotas(config: ServerConfig) -> ConnectionQuotas:
    whole = config.settings.whole
    try:
        overrides = per_ip_overrides(config.settings)
    except ApiError as error:
        raise InputError(error.message) from None
    return ConnectionQuotas(whole("max.connections"), whole("max.connections.per.ip"), overrides)


def _budget(config: ServerConfig) -> RequestBudget:
    return RequestBudget(
        config.settings.whole("queued.max.requests"), config.settings.whole("queued.max.request.bytes")
    )
