"""Registered brokers and controllers."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from odradek.common.failures import check
from odradek.metadata.image.broker_registration import (
    BrokerRegistration,
    ControllerRegistration,
    broker_from_record,
    controller_from_record,
)
from odradek.metadata.image.immutable_map import MapDelta, SharedMap
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.metadata.records.writer_options import WriterOptions
from odradek.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from odradek.protocol.messages.fence_broker_record import FenceBrokerRecord
from odradek.protocol.messages.register_broker_record import RegisterBrokerRecord
from odradek.protocol.messages.register_controller_record import RegisterControllerRecord
from odradek.protocol.messages.unfence_broker_record import UnfenceBrokerRecord
from odradek.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from odradek.protocol.messages.unregister_controller_record import UnregisterControllerRecord


@dataclass(frozen=True, slots=True)
class ClusterImage:
    brokers: SharedMap[int, BrokerRegistration] = field(default_factory=SharedMap)
    controllers: SharedMap[int, ControllerRegistration] = field(default_factory=SharedMap)

    @property
    def is_empty(self) -> bool:
        return not self.brokers and not self.controllers

    def broker_epoch(self, broker_id: int) -> int:
        broker: BrokerRegistration | None = self.brokers.get(broker_id)
        return -1 if broker is None else broker.epoch

    def records(self, options: WriterOptions) -> Iterator[MetadataRecord]:
        for _, broker in sorted(self.brokers.items()):
            yield broker.to_record(options)
        if options.metadata_version.is_controller_registration_supported:
            for _, controller in sorted(self.controllers.items()):
                yield controller.to_record()
        elif self.controllers:
            options.lose("controller registration data")


class ClusterDelta:
    def __init__(self, image: ClusterImage) -> None:
        self.image = image
        self.brokers = MapDelta(image.brokers)
        self.controllers = MapDelta(image.controllers)

    def replay_register_broker(self, record: RegisterBrokerRecord) -> None:
        self.brokers.put(record.broker_id, broker_from_record(record))

    def replay_unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        self.brokers.remove(record.broker_id)

    def replay_fence_broker(self, record: FenceBrokerRecord) -> None:
        self.brokers.put(record.id, self._broker(record.id, record.epoch).with_fenced(True))

    def replay_unfence_broker(self, record: UnfenceBrokerRecord) -> None:
        self.brokers.put(record.id, self._broker(record.id, record.epoch).with_fenced(False))

    def replay_broker_change(self, record: BrokerRegistrationChangeRecord) -> None:
        self.brokers.put(record.broker_id, self._broker(record.broker_id, record.broker_epoch).changed(record))

    def replay_register_controller(self, record: RegisterControllerRecord) -> None:
        self.controllers.put(record.controller_id, controller_from_record(record))

    def replay_unregister_controller(self, record: UnregisterControllerRecord) -> None:
        self.controllers.remove(record.controller_id)

    def finish_snapshot(self) -> None:
        self.brokers.finish_snapshot()
        self.controllers.finish_snapshot()

    def apply(self) -> ClusterImage:
        return ClusterImage(self.brokers.apply(), self.controllers.apply())

    def _broker(self, broker_id: int, epoch: int) -> BrokerRegistration:
        broker = self.brokers.get(broker_id)
        check(broker is not None, f"broker {broker_id} is changed by a record, but it is not registered")
        assert broker is not None
        check(
            broker.epoch == epoch, f"a record changes broker {broker_id} at epoch {epoch}, but it is at {broker.epoch}"
        )
        return broker
