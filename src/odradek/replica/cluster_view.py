"""The cluster as this broker's replicas see it: the applied metadata image and the broker's own registration."""

from __future__ import annotations

from odradek.metadata.image.broker_registration import BrokerRegistration
from odradek.metadata.image.image import EMPTY, MetadataImage

_ANY_EPOCH = -1


class ClusterView:
    """Public to read; the image changes through `update`, the broker epoch through `set_broker_epoch`."""

    __slots__ = ("broker_epoch", "broker_id", "image")

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        #: Epoch of this broker's registration; -1 until it has registered.
        self.broker_epoch = -1
        self.image: MetadataImage = EMPTY

    def update(self, image: MetadataImage) -> None:
        self.image = image

    def set_broker_epoch(self, epoch: int) -> None:
        self.broker_epoch = epoch

    def broker(self, broker_id: int) -> BrokerRegistration | None:
        registration: BrokerRegistration | None = self.image.cluster.brokers.get(broker_id)
        return registration

    def is_alive(self, broker_id: int) -> bool:
        broker = self.broker(broker_id)
        return broker is not None and not broker.fenced

    def is_isr_eligible(self, broker_id: int, fetched_epoch: int | None) -> bool:
        """Return whether the broker is neither fenced nor shutting down, and its fetches are those of its current
        registration (KIP-903): a new registration may have lost what the previous one had."""
        broker = self.broker(broker_id)
        if broker is None or not broker.is_active or fetched_epoch is None:
            return False
        return fetched_epoch in (_ANY_EPOCH, broker.epoch)

    def is_stale_epoch(self, broker_id: int, fetched_epoch: int) -> bool:
        """Return whether a later registration has replaced the one that fetched."""
        broker = self.broker(broker_id)
        return fetched_epoch != _ANY_EPOCH and broker is not None and not broker.fenced and broker.epoch > fetched_epoch

    @property
    def are_directories_assigned(self) -> bool:
        """True if the metadata version assigns replicas to log directories (KIP-858)."""
        version = self.image.features.metadata_version
        return version is None or version.is_directory_assignment_supported
