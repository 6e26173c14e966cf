"""Leaders for clients that sent a request to another broker (KIP-951): the leader's id, its epoch, and its address."""

from typing import NamedTuple

from odradek.metadata.image.image import MetadataImage
from odradek.metadata.image.topics import TopicImage
from odradek.metadata.listener_view import ListenerView

_UNKNOWN = -1


class LeaderHint(NamedTuple):
    id: int
    epoch: int


class LeaderEndpoint(NamedTuple):
    """Fields are named as in the responses."""

    node_id: int
    host: str
    port: int
    rack: str | None


class LeaderHints:
    """Leaders named in one response, with their endpoints on the listener that the request came in on."""

    __slots__ = ("_image", "_leaders", "_listener_name", "_node_id")

    def __init__(self, image: MetadataImage, listener_name: str, node_id: int) -> None:
        self._image = image
        self._listener_name = listener_name
        self._node_id = node_id
        self._leaders: dict[int, None] = {}

    def leader(self, topic: str, topic_id: bytes, partition_index: int) -> LeaderHint:
        topics = self._image.topics
        image: TopicImage | None = topics.by_name.get(topic) if topic else topics.by_id.get(topic_id)
        registration = image.partitions.get(partition_index) if image is not None else None
        if registration is None:
            return LeaderHint(_UNKNOWN, _UNKNOWN)
        self._leaders[registration.leader] = None
        return LeaderHint(registration.leader, registration.leader_epoch)

    def endpoints(self) -> list[LeaderEndpoint]:
        """Return the endpoints of all leaders that `leader` returned."""
        if not self._leaders:
            return []
        return [
            LeaderEndpoint(broker.id, endpoint.host, endpoint.port, broker.rack)
            for broker, endpoint in ListenerView(self._image, self._listener_name, self._node_id).brokers()
            if broker.id in self._leaders
        ]
