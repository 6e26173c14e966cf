"""Brokers and controllers: registration, epochs, fencing.

States of a broker: Offline (not registered) -> Fenced (registered) -> Online (unfenced) -> Stopping (in controlled
shutdown) -> Fenced. A broker registers with the incarnation id that its process drew. Its epoch is the offset of that
registration, and each of its requests must carry it, so that an older process with the same id is rejected.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from odradek.common.failures import check
from odradek.common.ids import uuid_to_text
from odradek.controller.decision import ControllerDecision, RequestRejected
from odradek.controller.feature_control import FeatureControl, NodeFeatures
from odradek.controller.heartbeats import HeartbeatLimits, Heartbeats
from odradek.controller.rules.placement import UsableBroker
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

#: Directory ids below this are reserved.
_RESERVED_DIRECTORY_IDS = 100


class RegistrationState(Enum):
    OFFLINE = "Offline"
    FENCED = "Fenced"
    ONLINE = "Online"
    STOPPING = "Stopping"


class ColocatedBroker(NamedTuple):
    """Broker in the controller's own process; `incarnation_id` is None if there is none."""

    node_id: int
    incarnation_id: bytes | None

    def has_replaced(self, broker: BrokerRegistration) -> bool:
        """Return whether the broker was an earlier process of this node, which has ended."""
        is_other_process = self.incarnation_id is not None and self.incarnation_id != broker.incarnation_id
        return is_other_process and broker.id == self.node_id


class ClusterControl:
    def __init__(
        self, cluster_id: str, limits: HeartbeatLimits, features: FeatureControl, colocated_broker: ColocatedBroker
    ) -> None:
        self._cluster_id = cluster_id
        self._colocated_broker = colocated_broker
        self._limits = limits
        self._features = features
        self.heartbeats = Heartbeats(limits)
        self.brokers: dict[int, BrokerRegistration] = {}
        self.controllers: dict[int, ControllerRegistration] = {}
        #: Offset of the record that registered each broker; the broker is unfenced only after it has read that.
        self.registration_offsets: dict[int, int] = {}

    def activate(self, now_ms: int) -> None:
        """Start sessions of unfenced brokers now; that of a process that this one has replaced is expired already."""
        for broker in self.brokers.values():
            if not broker.fenced:
                ago_ms = self._limits.session_timeout_ms if self._colocated_broker.has_replaced(broker) else 0
                self.heartbeats.assume(broker.id, broker.epoch, now_ms - ago_ms)

    # Queries

    def state(self, broker_id: int) -> RegistrationState:
        broker = self.brokers.get(broker_id)
        if broker is None:
            return RegistrationState.OFFLINE
        if broker.fenced:
            return RegistrationState.FENCED
        return RegistrationState.STOPPING if broker.in_controlled_shutdown else RegistrationState.ONLINE

    def is_active(self, broker_id: int) -> bool:
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.is_active

    def unfenced_ids(self) -> list[int]:
        return [broker.id for broker in self.brokers.values() if not broker.fenced]

    def has_online_directory(self, broker_id: int, directory: bytes) -> bool:
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.has_online_directory(directory)

    def default_directory(self, broker_id: int) -> bytes:
        """Return the only directory of the broker; UNASSIGNED if there are several: the broker assigns one later."""
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
        """Return the offset that every active broker has read; None if no broker is active."""
        offsets = [self.heartbeats.metadata_offset(b.id) for b in self.brokers.values() if b.is_active]
        return min(offsets, default=None)

    def node_features(self) -> list[NodeFeatures]:
        brokers: list[NodeFeatures] = [("Broker", b.id, b.supported_features) for b in self.brokers.values()]
        return brokers + [("Controller", c.id, c.supported_features) for c in self.controllers.values()]

    def check_broker_epoch(self, broker_id: int, epoch: int) -> None:
        broker = self.brokers.get(broker_id)
        if broker is None:
            raise RequestRejected(
                ErrorCode.STALE_BROKER_EPOCH, f"No broker registration found for broker id {broker_id}"
            )
        if broker.epoch != epoch:
            raise RequestRejected(
                ErrorCode.STALE_BROKER_EPOCH, f"Expected broker epoch {broker.epoch}, but got broker epoch {epoch}"
            )

    def check_manual_assignment(self, replicas: list[int], replication_factor: int | None) -> None:
        """Reject an empty replica list, unknown brokers, duplicates and a differing number of replicas."""
        prefix = "The manual partition assignment includes"
        if not replicas:
            raise _invalid_assignment(f"{prefix} an empty replica list.")
        previous = None
        for broker_id in sorted(replicas):
            broker = self.brokers.get(broker_id)
            if broker is None:
                raise _invalid_assignment(f"{prefix} broker {broker_id}, but no such broker is registered.")
            if not broker.has_uncordoned_directories:
                raise _invalid_assignment(f"{prefix} broker {broker_id}, but all its log directories are cordoned.")
            if broker_id == previous:
                raise _invalid_assignment(f"{prefix} the broker {broker_id} more than once.")
            previous = broker_id
        if replication_factor is not None and len(replicas) != replication_factor:
            raise _invalid_assignment(
                f"{prefix} a partition with {len(replicas)} replica(s), but this is not consistent with previous "
                f"partitions, which have {replication_factor} replica(s)."
            )

    # Decisions

    def register_broker(
        self,
        request: BrokerRegistrationRequest,
        new_epoch: int,
        cleanup: Sequence[MetadataRecord],
        now_ms: int,
    ) -> ControllerDecision[BrokerRegistrationResponse]:
        """Register a broker. `cleanup` has the records that remove its previous incarnation from every ISR.

        The registration is the last record: if only a prefix of the records is committed, the broker registers again.
        """
        self._check_registration(request, now_ms)
        existing = self.brokers.get(request.broker_id)
        if existing is not None and existing.incarnation_id != request.incarnation_id:
            existing = None
        record = self._registration_record(request, existing, new_epoch)
        version = self._features.metadata_version.register_broker_record_version
        response = BrokerRegistrationResponse(broker_epoch=record.broker_epoch)
        return ControllerDecision([*cleanup, MetadataRecord(record, version)], response)

    def is_new_incarnation(self, request: BrokerRegistrationRequest) -> bool:
        existing = self.brokers.get(request.broker_id)
        return existing is None or existing.incarnation_id != request.incarnation_id

    def was_clean_shutdown(self, request: BrokerRegistrationRequest) -> bool:
        """Return whether the request has the epoch of the previous process, which then stopped cleanly (KIP-966)."""
        existing = self.brokers.get(request.broker_id)
        return existing is not None and existing.epoch == request.previous_broker_epoch

    def register_controller(
        self, request: ControllerRegistrationRequest
    ) -> ControllerDecision[ControllerRegistrationResponse]:
        if not self._features.metadata_version.is_controller_registration_supported:
            raise RequestRejected(
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
        return ControllerDecision([MetadataRecord(record, 0)], ControllerRegistrationResponse(), is_atomic=True)

    def _check_registration(self, request: BrokerRegistrationRequest, now_ms: int) -> None:
        if request.cluster_id != self._cluster_id:
            raise RequestRejected(
                ErrorCode.INCONSISTENT_CLUSTER_ID,
                f"Expected cluster ID {self._cluster_id}, but got cluster ID {request.cluster_id}",
            )
        existing = self.brokers.get(request.broker_id)
        if (
            existing is not None
            and existing.incarnation_id != request.incarnation_id
            and not self.heartbeats.may_be_replaced(existing.id, existing.epoch, now_ms)
        ):
            raise RequestRejected(
                ErrorCode.DUPLICATE_BROKER_REGISTRATION,
                "Another broker is registered with that broker id. If the broker was recently restarted this should "
                "self-resolve once the heartbeat manager expires the broker's session.",
            )
        if request.is_migrating_zk_broker:
            raise RequestRejected(
                ErrorCode.BROKER_ID_NOT_REGISTERED, "Controller does not support registering ZK brokers."
            )
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
        supported = {f.name: (f.min_supported_version, f.max_supported_version) for f in request.features}
        if metadata_version.FEATURE_NAME not in supported:
            raise _invalid_registration(f"Request features do not contain '{metadata_version.FEATURE_NAME}'")
        finalized = self._features.finalized_levels()
        for name in (*supported, *(name for name in finalized if name not in supported)):
            low, high = supported.get(name, (0, 0))
            level = finalized.get(name, 0)
            if not low <= level <= high:
                raise RequestRejected(
                    ErrorCode.UNSUPPORTED_VERSION,
                    f"Unable to register because the broker does not support finalized version {level} of {name}. "
                    f"The broker wants a version between {low} and {high}, inclusive.",
                )

    def _registration_record(
        self, request: BrokerRegistrationRequest, same_incarnation: BrokerRegistration | None, new_epoch: int
    ) -> RegisterBrokerRecord:
        """Return the record; a process that registers again keeps its epoch and its state."""
        has_directories = self._features.metadata_version.is_directory_assignment_supported
        return RegisterBrokerRecord(
            broker_id=request.broker_id,
            broker_epoch=new_epoch if same_incarnation is None else same_incarnation.epoch,
            fenced=same_incarnation is None or same_incarnation.fenced,
            in_controlled_shutdown=same_incarnation is not None and same_incarnation.in_controlled_shutdown,
            log_dirs=list(request.log_dirs) if has_directories else [],
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

    # Replay

    def replay_register_broker(self, record: RegisterBrokerRecord, offset: int) -> None:
        """Replay a registration. It ends the session of an older incarnation; the new one starts with its
        heartbeats."""
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
            self.heartbeats.end_shutdown(broker.id)

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


def _invalid_registration(message: str) -> RequestRejected:
    return RequestRejected(ErrorCode.INVALID_REGISTRATION, message)


def _invalid_assignment(message: str) -> RequestRejected:
    return RequestRejected(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
