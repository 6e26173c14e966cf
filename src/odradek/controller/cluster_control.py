"""Brokers and controllers: registration, epochs, fencing. The states of a broker here:

Offline (not registered) -> Fenced (registered, takes no part) -> Online (unfenced) -> Stopping (in controlled shutdown)
-> Fenced. A broker registers with the incarnation id that its process drew; its epoch is the offset of that
registration, and everything it asks for must carry it, so that an older process of the same id is refused.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from odradek.common.failures import check
from odradek.common.ids import uuid_to_text
from odradek.controller.decision import Decision, Refused
from odradek.controller.feature_control import FeatureControl, NodeFeatures
from odradek.controller.heartbeats import HeartbeatLimits, Heartbeats
from odradek.controller.replica_placer import UsableBroker
from odradek.metadata.features import metadata_version
from odradek.metadata.image.broker_registration import (
    BrokerRegistration,
    ControllerRegistration,
    broker_from_record,
    controller_from_record,
)
from odradek.metadata.image.directory_id import MIGRATING, UNASSIGNED
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from odradek.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from odradek.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from odradek.protocol.messages.controller_registration_request import ControllerRegistrationRequest
from odradek.protocol.messages.controller_registration_response import ControllerRegistrationResponse
from odradek.protocol.messages.fence_broker_record import FenceBrokerRecord
from odradek.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from odradek.protocol.messages.register_controller_record import (
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
)
from odradek.protocol.messages.unfence_broker_record import UnfenceBrokerRecord
from odradek.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from odradek.protocol.messages.unregister_controller_record import UnregisterControllerRecord

#: Directory ids below this stand for no directory.
_RESERVED_DIRECTORY_IDS = 100


class BrokerState(Enum):
    OFFLINE = "Offline"
    FENCED = "Fenced"
    ONLINE = "Online"
    STOPPING = "Stopping"


class Neighbour(NamedTuple):
    """The broker in the controller's own process; `incarnation_id` is None where there is none."""

    node_id: int
    incarnation_id: bytes | None

    def has_replaced(self, broker: BrokerRegistration) -> bool:
        """Whether the broker was an earlier process of this node, and so is gone."""
        replaced = self.incarnation_id is not None and self.incarnation_id != broker.incarnation_id
        return replaced and broker.id == self.node_id


class ClusterControl:
    def __init__(
        self, cluster_id: str, limits: HeartbeatLimits, features: FeatureControl, neighbour: Neighbour
    ) -> None:
        self._cluster_id = cluster_id
        self._neighbour = neighbour
        self._limits = limits
        self._features = features
        self.heartbeats = Heartbeats(limits)
        self.brokers: dict[int, BrokerRegistration] = {}
        self.controllers: dict[int, ControllerRegistration] = {}
        #: Offset of the record that registered each broker; it is unfenced only after it has read so far.
        self.registration_offsets: dict[int, int] = {}

    def activate(self, now_ms: int) -> None:
        """Who is unfenced counts as heard just now, but for a process that this one has taken the place of."""
        for broker in self.brokers.values():
            if not broker.fenced:
                ago_ms = self._limits.session_timeout_ms if self._neighbour.has_replaced(broker) else 0
                self.heartbeats.assume(broker.id, broker.epoch, now_ms - ago_ms)

    # Questions

    def state(self, broker_id: int) -> BrokerState:
        broker = self.brokers.get(broker_id)
        if broker is None:
            return BrokerState.OFFLINE
        if broker.fenced:
            return BrokerState.FENCED
        return BrokerState.STOPPING if broker.in_controlled_shutdown else BrokerState.ONLINE

    def is_active(self, broker_id: int) -> bool:
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.is_active

    def unfenced_ids(self) -> list[int]:
        return [broker.id for broker in self.brokers.values() if not broker.fenced]

    def has_online_directory(self, broker_id: int, directory: bytes) -> bool:
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.has_online_directory(directory)

    def default_directory(self, broker_id: int) -> bytes:
        """The broker's only one; with several the broker itself chooses later."""
        broker = self.brokers.get(broker_id)
        if broker is None or len(broker.directories) > 1:
            return UNASSIGNED
        return broker.directories[0] if broker.directories else MIGRATING

    def usable_brokers(self) -> list[UsableBroker]:
        return [
            UsableBroker(broker.id, broker.rack, broker.fenced)
            for _, broker in sorted(self.brokers.items())
            if broker.has_uncordoned_directories
            and not broker.in_controlled_shutdown
            and not self.heartbeats.is_shutting_down(broker.id)
        ]

    def lowest_active_offset(self) -> int | None:
        """Up to where every active broker has read; None when there is none."""
        offsets = [self.heartbeats.metadata_offset(b.id) for b in self.brokers.values() if b.is_active]
        return min(offsets, default=None)

    def node_features(self) -> list[NodeFeatures]:
        brokers: list[NodeFeatures] = [("Broker", b.id, b.supported_features) for b in self.brokers.values()]
        return brokers + [("Controller", c.id, c.supported_features) for c in self.controllers.values()]

    def check_broker_epoch(self, broker_id: int, epoch: int) -> None:
        broker = self.brokers.get(broker_id)
        if broker is None:
            raise Refused(ErrorCode.STALE_BROKER_EPOCH, f"No broker registration found for broker id {broker_id}")
        if broker.epoch != epoch:
            raise Refused(
                ErrorCode.STALE_BROKER_EPOCH, f"Expected broker epoch {broker.epoch}, but got broker epoch {epoch}"
            )

    # Decisions

    def register_broker(
        self,
        request: BrokerRegistrationRequest,
        new_epoch: int,
        cleanup: Sequence[MetadataRecord],
        now_ms: int,
    ) -> Decision[BrokerRegistrationResponse]:
        """`cleanup` takes the previous incarnation out of every ISR; see `is_new_incarnation`.

        The registration comes last: if only a beginning of the records survives, the broker registers again.
        """
        self._check_registration(request, now_ms)
        existing = self.brokers.get(request.broker_id)
        record = self._registration_record(request)
        if existing is not None and existing.incarnation_id == request.incarnation_id:
            record.fenced = existing.fenced
            record.in_controlled_shutdown = existing.in_controlled_shutdown
            record.broker_epoch = existing.epoch
        else:
            record.broker_epoch = new_epoch
        version = self._features.metadata_version.register_broker_record_version
        response = BrokerRegistrationResponse(broker_epoch=record.broker_epoch)
        return Decision([*cleanup, MetadataRecord(record, version)], response)

    def is_new_incarnation(self, request: BrokerRegistrationRequest) -> bool:
        existing = self.brokers.get(request.broker_id)
        return existing is None or existing.incarnation_id != request.incarnation_id

    def was_clean_shutdown(self, request: BrokerRegistrationRequest) -> bool:
        """The broker names the epoch it stopped cleanly at; KIP-966."""
        existing = self.brokers.get(request.broker_id)
        return existing is not None and existing.epoch == request.previous_broker_epoch

    def register_controller(self, request: ControllerRegistrationRequest) -> Decision[ControllerRegistrationResponse]:
        if not self._features.metadata_version.is_controller_registration_supported:
            raise Refused(
                ErrorCode.UNSUPPORTED_VERSION,
                "The current MetadataVersion is too old to support controller registrations.",
            )
        record = RegisterControllerRecord(
            controller_id=request.controller_id,
            incarnation_id=request.incarnation_id,
            end_points=[
                ControllerEndpoint(name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol)
                for e in request.listeners
            ],
            features=[
                ControllerFeature(
                    name=f.name,
                    min_supported_version=f.min_supported_version,
                    max_supported_version=f.max_supported_version,
                )
                for f in request.features
            ],
        )
        return Decision([MetadataRecord(record, 0)], ControllerRegistrationResponse(), is_atomic=True)

    def _check_registration(self, request: BrokerRegistrationRequest, now_ms: int) -> None:
        if request.cluster_id != self._cluster_id:
            raise Refused(
                ErrorCode.INCONSISTENT_CLUSTER_ID,
                f"Expected cluster ID {self._cluster_id}, but got cluster ID {request.cluster_id}",
            )
        existing = self.brokers.get(request.broker_id)
        if (
            existing is not None
            and existing.incarnation_id != request.incarnation_id
            and not self.heartbeats.may_be_replaced(existing.id, existing.epoch, now_ms)
        ):
            raise Refused(
                ErrorCode.DUPLICATE_BROKER_REGISTRATION,
                "Another broker is registered with that broker id. If the broker was recently restarted this should "
                "self-resolve once the heartbeat manager expires the broker's session.",
            )
        if request.is_migrating_zk_broker:
            raise Refused(ErrorCode.BROKER_ID_NOT_REGISTERED, "Controller does not support registering ZK brokers.")
        if self._features.metadata_version.is_directory_assignment_supported:
            self._check_directories(request)
        self._check_features(request)

    def _check_directories(self, request: BrokerRegistrationRequest) -> None:
        if not request.log_dirs:
            raise _invalid_registration("No directories specified in request")
        if any(int.from_bytes(directory) < _RESERVED_DIRECTORY_IDS for directory in request.log_dirs):
            raise _invalid_registration("Reserved directory ID in request")
        if len(dict.fromkeys(request.log_dirs)) != len(request.log_dirs):
            raise _invalid_registration("Duplicate directory ID in request")
        for other in self.brokers.values():
            for directory in request.log_dirs:
                if other.id != request.broker_id and directory in other.directories:
                    raise _invalid_registration(
                        f"Broker {other.id} is already registered with directory {uuid_to_text(directory)}"
                    )

    def _check_features(self, request: BrokerRegistrationRequest) -> None:
        offered = {f.name: (f.min_supported_version, f.max_supported_version) for f in request.features}
        if metadata_version.FEATURE_NAME not in offered:
            raise _invalid_registration(f"Request features do not contain '{metadata_version.FEATURE_NAME}'")
        finalized = self._features.finalized_levels()
        for name in (*offered, *(name for name in finalized if name not in offered)):
            low, high = offered.get(name, (0, 0))
            level = finalized.get(name, 0)
            if not low <= level <= high:
                raise Refused(
                    ErrorCode.UNSUPPORTED_VERSION,
                    f"Unable to register because the broker does not support finalized version {level} of {name}. "
                    f"The broker wants a version between {low} and {high}, inclusive.",
                )

    def _registration_record(self, request: BrokerRegistrationRequest) -> RegisterBrokerRecord:
        record = RegisterBrokerRecord(
            broker_id=request.broker_id,
            incarnation_id=request.incarnation_id,
            rack=request.rack,
            end_points=[
                BrokerEndpoint(name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol)
                for e in request.listeners
            ],
            features=[
                BrokerFeature(
                    name=f.name,
                    min_supported_version=f.min_supported_version,
                    max_supported_version=f.max_supported_version,
                )
                for f in request.features
            ],
        )
        if self._features.metadata_version.is_directory_assignment_supported:
            record.log_dirs = list(request.log_dirs)
        return record

    # Replay

    def replay_register_broker(self, record: RegisterBrokerRecord, offset: int) -> None:
        """The session of an older incarnation ends with it; the new one is heard of by its own heartbeats."""
        previous = self.brokers.get(record.broker_id)
        if previous is not None and previous.incarnation_id != record.incarnation_id:
            self.heartbeats.forget(record.broker_id)
        self.brokers[record.broker_id] = broker_from_record(record)
        self.registration_offsets[record.broker_id] = offset

    def replay_unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        self._broker(record.broker_id, record.broker_epoch)
        del self.brokers[record.broker_id]
        self.registration_offsets.pop(record.broker_id, None)
        self.heartbeats.forget(record.broker_id)

    def replay_fence_broker(self, record: FenceBrokerRecord) -> None:
        self._put(self._broker(record.id, record.epoch).with_fenced(True))

    def replay_unfence_broker(self, record: UnfenceBrokerRecord) -> None:
        self._put(self._broker(record.id, record.epoch).with_fenced(False))

    def replay_broker_change(self, record: BrokerRegistrationChangeRecord) -> None:
        self._put(self._broker(record.broker_id, record.broker_epoch).changed(record))

    def replay_register_controller(self, record: RegisterControllerRecord) -> None:
        self.controllers[record.controller_id] = controller_from_record(record)

    def replay_unregister_controller(self, record: UnregisterControllerRecord) -> None:
        self.controllers.pop(record.controller_id, None)

    def _put(self, broker: BrokerRegistration) -> None:
        self.brokers[broker.id] = broker
        if broker.fenced:
            self.heartbeats.shutdown_ended(broker.id)

    def _broker(self, broker_id: int, epoch: int) -> BrokerRegistration:
        broker = self.brokers.get(broker_id)
        check(
            broker is not None and broker.epoch == epoch,
            f"a record changes broker {broker_id} at epoch {epoch}, which is not registered",
        )
        assert broker is not None
        return broker

    def durable_state(self) -> Mapping[str, object]:
        return {"brokers": dict(self.brokers), "controllers": dict(self.controllers)}


def _invalid_registration(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REGISTRATION, message)
