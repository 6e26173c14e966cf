"""What some records change in an image: only the parts that they touch.

Records are replayed in the order of the log. A part's delta is made when the first record touches it and is None until
then, so that a publisher sees at a glance what it need not look at. `apply` makes the next image, in which untouched
parts are the same objects as before.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from odradek.common.failures import Fault
from odradek.metadata.features.metadata_version import MetadataVersion
from odradek.metadata.image.acls import AclsDelta
from odradek.metadata.image.client_quotas import ClientQuotasDelta
from odradek.metadata.image.cluster import ClusterDelta
from odradek.metadata.image.configs import ConfigsDelta
from odradek.metadata.image.delegation_tokens import DelegationTokensDelta
from odradek.metadata.image.features import FeaturesDelta
from odradek.metadata.image.image import EMPTY, MetadataImage, MetadataProvenance
from odradek.metadata.image.producer_ids import ProducerIdsDelta
from odradek.metadata.image.scram import ScramDelta
from odradek.metadata.image.topics import TopicsDelta
from odradek.protocol.message import Message
from odradek.protocol.messages.remove_topic_record import RemoveTopicRecord

#: Name of each part, in an image and in a delta, and what makes its delta.
_PARTS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "features": FeaturesDelta,
    "cluster": ClusterDelta,
    "topics": TopicsDelta,
    "configs": ConfigsDelta,
    "client_quotas": ClientQuotasDelta,
    "producer_ids": ProducerIdsDelta,
    "acls": AclsDelta,
    "scram": ScramDelta,
    "delegation_tokens": DelegationTokensDelta,
}


class _Route(NamedTuple):
    part: str
    method: str


#: Where each kind of record goes, by its key.
_ROUTES: Final[Mapping[int, _Route]] = {
    0: _Route("cluster", "replay_register_broker"),
    1: _Route("cluster", "replay_unregister_broker"),
    2: _Route("topics", "replay_topic"),
    3: _Route("topics", "replay_partition"),
    4: _Route("configs", "replay"),
    5: _Route("topics", "replay_change"),
    7: _Route("cluster", "replay_fence_broker"),
    8: _Route("cluster", "replay_unfence_broker"),
    10: _Route("delegation_tokens", "replay"),
    11: _Route("scram", "replay"),
    12: _Route("features", "replay"),
    14: _Route("client_quotas", "replay"),
    15: _Route("producer_ids", "replay"),
    17: _Route("cluster", "replay_broker_change"),
    18: _Route("acls", "replay"),
    19: _Route("acls", "replay_remove"),
    22: _Route("scram", "replay_remove"),
    26: _Route("delegation_tokens", "replay_remove"),
    27: _Route("cluster", "replay_register_controller"),
    28: _Route("topics", "replay_clear_elr"),
    29: _Route("cluster", "replay_unregister_controller"),
}

_REMOVE_TOPIC: Final = 9

#: NoOp, and the state of a migration from ZooKeeper, which is over wherever this software runs.
_WITHOUT_EFFECT: Final = (20, 21)


class MetadataDelta:
    def __init__(self, image: MetadataImage) -> None:
        self.image = image
        self.features: FeaturesDelta | None = None
        self.cluster: ClusterDelta | None = None
        self.topics: TopicsDelta | None = None
        self.configs: ConfigsDelta | None = None
        self.client_quotas: ClientQuotasDelta | None = None
        self.producer_ids: ProducerIdsDelta | None = None
        self.acls: AclsDelta | None = None
        self.scram: ScramDelta | None = None
        self.delegation_tokens: DelegationTokensDelta | None = None
        self._replays: dict[int, Callable[[Any], object]] = {}

    @staticmethod
    def whole(image: MetadataImage) -> "MetadataDelta":
        """From nothing to the image."""
        delta = MetadataDelta(EMPTY)
        for record in image.records_but_topics():
            delta.replay(record.message)
        if not image.topics.is_empty:
            delta.topics = TopicsDelta.whole(image.topics)
        return delta

    @property
    def metadata_version_changed(self) -> MetadataVersion | None:
        return None if self.features is None else self.features.metadata_version_change

    def replay(self, message: Message) -> None:
        """A record that contradicts the image is a Fault: the log is not what it was when it was written."""
        key = message.API_KEY
        replay = self._replays.get(key)
        if replay is None:
            replay = self._replays[key] = self._find_replay(message)
        replay(message)

    def finish_snapshot(self) -> None:
        """All that a snapshot has was replayed: whatever else the image held is gone."""
        for part in _PARTS:
            self._part(part).finish_snapshot()

    def apply(self, provenance: MetadataProvenance) -> MetadataImage:
        parts = {}
        for part in _PARTS:
            delta = getattr(self, part)
            parts[part] = getattr(self.image, part) if delta is None else delta.apply()
        return MetadataImage(provenance, **parts)

    def _part(self, name: str) -> Any:
        found = getattr(self, name)
        if found is None:
            found = _PARTS[name](getattr(self.image, name))
            setattr(self, name, found)
        return found

    def _find_replay(self, message: Message) -> Callable[[Any], object]:
        route = _ROUTES.get(message.API_KEY)
        if route is not None:
            replay: Callable[[Any], object] = getattr(self._part(route.part), route.method)
            return replay
        if message.API_KEY == _REMOVE_TOPIC:
            return self._replay_remove_topic
        if message.API_KEY in _WITHOUT_EFFECT:
            return _replay_nothing
        raise Fault(f"{type(message).__name__} is no record of an image")

    def _replay_remove_topic(self, record: RemoveTopicRecord) -> None:
        name = self._part("topics").replay_remove(record)
        self._part("configs").remove_topic(name)


def _replay_nothing(_: Message) -> None:
    pass
