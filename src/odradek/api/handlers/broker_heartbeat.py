"""BrokerHeartbeat (key 63): a broker lives, and learns whether it is fenced and whether it may shut down.

v0 KIP-631 · v1 log directories that are offline (KIP-858) · v2 log directories that are cordoned (KIP-1066)

The connection that a broker's heartbeats come on is watched: when it goes, the controller hears of it at once and need
not wait for a whole session without heartbeats. Only the connection of the latest heartbeat counts: an older one may
linger, and end after the broker has gone over to another. A process of another epoch, which is refused, changes nothing
for the one that lives.

Authorised by CLUSTER_ACTION on the cluster.
"""

from collections.abc import Awaitable
from typing import cast

from odradek.api.dispatch.context import Context, Session
from odradek.api.dispatch.declaration import Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from odradek.security.resources import Operation

API = Api(ApiKey.BROKER_HEARTBEAT, listeners=(ListenerRole.CONTROLLER,), pipelined=True)

HEARTBEAT_INTERVAL_MS = "broker.heartbeat.interval.ms"
_HEARTBEAT_INTERVAL_MS_DEFAULT = "2000"


def handle(ctx: Context, request: BrokerHeartbeatRequest) -> Awaitable[BrokerHeartbeatResponse]:
    """The connection is watched at once, and not when the loop comes to it: it may be gone by then."""
    ctx.authorize(Operation.CLUSTER_ACTION)
    _watch(ctx.session, request)
    return _answer(ctx, request)


async def _answer(ctx: Context, request: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse:
    # Kafka's figure: what has waited for longer is overtaken by the broker's next heartbeat.
    interval_ms = int(ctx.services.static_configs.get(HEARTBEAT_INTERVAL_MS, _HEARTBEAT_INTERVAL_MS_DEFAULT))
    deadline_ms = ctx.deadline_ms(interval_ms // 2)
    return cast(BrokerHeartbeatResponse, await ctx.controller.handle(request, deadline_ms=deadline_ms))


def _watch(session: Session, request: BrokerHeartbeatRequest) -> None:
    watch = next((callback for callback in session.on_close if isinstance(callback, _Watch)), None)
    if watch is None:
        watch = _Watch(session)
        session.on_close.append(watch)
    watch.heard(request.broker_id, request.broker_epoch)


class _Watch:
    """One connection's: called when it is gone."""

    __slots__ = ("_broker_epoch", "_broker_id", "_session")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._broker_id = self._broker_epoch = -1

    def heard(self, broker_id: int, broker_epoch: int) -> None:
        if (broker_id, broker_epoch) != (self._broker_id, self._broker_epoch):
            self._let_go()
        self._broker_id, self._broker_epoch = broker_id, broker_epoch
        self._session.services.heartbeat_connections[broker_id, broker_epoch] = self._session.connection_id

    def __call__(self) -> None:
        controller = self._session.services.controller
        if self._let_go() and controller is not None:
            controller.heartbeat_connection_lost(self._broker_id, self._broker_epoch)

    def _let_go(self) -> bool:
        """False where the broker has gone over to another connection."""
        connections, watched = self._session.services.heartbeat_connections, (self._broker_id, self._broker_epoch)
        if connections.get(watched) != self._session.connection_id:
            return False
        del connections[watched]
        return True
