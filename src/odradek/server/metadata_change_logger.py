"""A controller's log of what the cluster becomes: brokers that come and go, topics, features.

A publisher like any other. What was there when the node started is not told again, and many topics of one change are
one line.
"""

import logging
from collections.abc import Iterator

from odradek.metadata.image.broker_registration import BrokerRegistration
from odradek.metadata.image.cluster import ClusterDelta
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.features import FeaturesDelta
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.image.topics import TopicsDelta
from odradek.metadata.publishing.publisher import LeaderAndEpoch, LoaderManifest, ManifestKind

logger = logging.getLogger("odradek.cluster")

#: Names in one line; of more only the number is told.
_NAMES = 5


class ChangeLog:
    name = "ChangeLog"

    def on_metadata_update(self, delta: MetadataDelta, image: MetadataImage, manifest: LoaderManifest) -> None:
        if manifest.kind is ManifestKind.SNAPSHOT:
            return
        for line in (*_brokers(delta.cluster), *_topics(delta.topics), *_features(delta.features)):
            logger.info("%s, at offset %d", line, image.offset)

    def on_controller_change(self, leader_and_epoch: LeaderAndEpoch) -> None:
        """The controller's own driver tells it."""


def _brokers(delta: ClusterDelta | None) -> Iterator[str]:
    if delta is None:
        return
    for broker_id, broker in delta.brokers.changes.items():
        previous: BrokerRegistration | None = delta.image.brokers.get(broker_id)
        if broker is None:
            yield f"broker {broker_id} is unregistered"
        elif previous is None or previous.epoch != broker.epoch:
            yield f"broker {broker_id} is registered at epoch {broker.epoch}" + ("" if broker.fenced else ", unfenced")
        elif previous.fenced != broker.fenced:
            yield f"broker {broker_id} at epoch {broker.epoch} is {'fenced' if broker.fenced else 'unfenced'}"
        elif broker.in_controlled_shutdown and not previous.in_controlled_shutdown:
            yield f"broker {broker_id} at epoch {broker.epoch} is stopping"


def _topics(delta: TopicsDelta | None) -> Iterator[str]:
    if delta is None:
        return
    if delta.created:
        yield f"{_named(list(delta.created), 'topic')} created"
    if delta.deleted:
        yield f"{_named(list(delta.deleted.values()), 'topic')} deleted"


def _features(delta: FeaturesDelta | None) -> Iterator[str]:
    if delta is None:
        return
    if delta.metadata_version_change is not None:
        yield f"metadata.version is {delta.metadata_version_change.version}"
    for name, level in delta.levels.changes.items():
        yield f"{name} is {level or 0}"


def _named(names: list[str], what: str) -> str:
    if len(names) > _NAMES:
        return f"{len(names)} {what}s"
    return f"{what}{'s' if len(names) > 1 else ''} {', '.join(names)}"
