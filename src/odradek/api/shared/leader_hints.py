"""Where a client that asked the wrong broker should go (KIP-951): the leader, its epoch, and its address."""

from typing import NamedTuple

from odradek.api.dispatch.context import Context
from odradek.api.shared.listener_view import ListenerView
from odradek.metadata.image.topics import TopicImage

_UNKNOWN = -1


class LeaderHint(NamedTuple):
    id: int
    epoch: int


class LeaderEndpoint(NamedTuple):
    """Field by field what the responses say."""

    node_id: int
    host: str
    port: int
    rack: str | None


class LeaderHints:
    """Of one response: gathers the leaders that it names, and then tells where they are."""

    __slots__ = ("_ctx", "_leaders")

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._leaders: dict[int, None] = {}

    def leader(self, topic: str, topic_id: bytes, partition: int) -> LeaderHint:
        topics = self._ctx.services.image().topics
        found: TopicImage | None = topics.by_name.get(topic) if topic else topics.by_id.get(topic_id)
        registration = found.partitions.get(partition) if found is not None else None
        if registration is None:
            return LeaderHint(_UNKNOWN, _UNKNOWN)
        self._leaders[registration.leader] = None
        return LeaderHint(registration.leader, registration.leader_epoch)

    def endpoints(self) -> list[LeaderEndpoint]:
        if not self._leaders:
            return []
        return [
            LeaderEndpoint(broker.id, endpoint.host, endpoint.port, broker.rack)
            for broker, endpoint in ListenerView(self._ctx).brokers()
            if broker.id in self._leaders
        ]
