"""What every partition of a broker shares: who the broker is, what it knows of the cluster, whom it asks."""

from __future__ import annotations

import logging

from odradek.common.ports import Clock
from odradek.log.manager.log_manager import LogManager
from odradek.metadata.image.broker_registration import BrokerRegistration
from odradek.metadata.image.image import EMPTY, MetadataImage
from odradek.replica.alter_partition import AlterPartitionOutbox
from odradek.replica.controller_contact import ControllerContact
from odradek.replica.log_lines import PartitionLogLines
from odradek.replica.settings import ReplicaSettings

_ANY_EPOCH = -1


class ReplicaContext:
    __slots__ = (
        "alter_partition",
        "broker_epoch",
        "broker_id",
        "clock",
        "contact",
        "image",
        "lines",
        "logs",
        "settings",
    )

    def __init__(self, broker_id: int, clock: Clock, logs: LogManager, settings: ReplicaSettings) -> None:
        self.broker_id = broker_id
        self.clock = clock
        self.logs = logs
        self.settings = settings
        self.image: MetadataImage = EMPTY
        #: Of this broker's registration, kept up to date by the driver; -1 until it has registered.
        self.broker_epoch = -1
        #: Written when a change of metadata has been applied.
        self.lines = PartitionLogLines(logging.getLogger("odradek.replica"))
        self.contact = ControllerContact(settings.broker_session_timeout_ms)
        self.alter_partition = AlterPartitionOutbox(broker_id, lambda: self.broker_epoch)

    def broker(self, broker_id: int) -> BrokerRegistration | None:
        found: BrokerRegistration | None = self.image.cluster.brokers.get(broker_id)
        return found

    def is_alive(self, broker_id: int) -> bool:
        broker = self.broker(broker_id)
        return broker is not None and not broker.fenced

    def is_isr_eligible(self, broker_id: int, fetched_epoch: int | None) -> bool:
        """Neither fenced nor stopping, and the same registration that has fetched (KIP-903): another one may have lost
        what the earlier one had."""
        broker = self.broker(broker_id)
        if broker is None or not broker.is_active or fetched_epoch is None:
            return False
        return fetched_epoch in (_ANY_EPOCH, broker.epoch)

    def is_stale_epoch(self, broker_id: int, fetched_epoch: int) -> bool:
        """A fetch of a registration that another one has replaced."""
        broker = self.broker(broker_id)
        return fetched_epoch != _ANY_EPOCH and broker is not None and not broker.fenced and broker.epoch > fetched_epoch
