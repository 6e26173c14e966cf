"""Registrations of brokers and controllers: their listeners, supported features and state."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from odradek.metadata.features.feature_versions import VersionRange
from odradek.metadata.image.directory_id import is_online
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.metadata.records.writer_options import WriterOptions
from odradek.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from odradek.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from odradek.protocol.messages.register_controller_record import (
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    name: str
    host: str
    port: int
    #: Kafka's number: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
    security_protocol: int


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    id: int
    #: The offset of the registration's record: a later registration of the same id always has a greater one.
    epoch: int
    #: Drawn by each run of the process.
    incarnation_id: bytes
    listeners: Mapping[str, Endpoint]
    supported_features: Mapping[str, VersionRange]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    is_migrating_zk_broker: bool = False
    #: Directories that are online, sorted; empty for brokers that did not report them.
    directories: tuple[bytes, ...] = ()
    #: Directories that take no new replicas; None until the broker has reported them.
    cordoned_directories: tuple[bytes, ...] | None = None

    @property
    def is_active(self) -> bool:
        """Whether the broker may hold new replicas and lead."""
        return not self.fenced and not self.in_controlled_shutdown

    def has_online_directory(self, directory: bytes) -> bool:
        return is_online(directory, self.directories)

    @property
    def has_uncordoned_directories(self) -> bool:
        if not self.directories or self.cordoned_directories is None:
            return True
        return any(directory not in self.cordoned_directories for directory in self.directories)

    def changed(self, record: BrokerRegistrationChangeRecord) -> "BrokerRegistration":
        return replace(
            self,
            fenced=_switched(self.fenced, record.fenced),
            # Set by the record of a broker that stops, and cleared only by a new registration.
            in_controlled_shutdown=self.in_controlled_shutdown or record.in_controlled_shutdown == 1,
            directories=tuple(sorted(record.log_dirs)) if record.log_dirs else self.directories,
            cordoned_directories=(
                self.cordoned_directories if record.cordoned_log_dirs is None else tuple(record.cordoned_log_dirs)
            ),
        )

    def with_fenced(self, fenced: bool) -> "BrokerRegistration":
        return replace(self, fenced=fenced)

    def to_record(self, options: WriterOptions) -> MetadataRecord:
        version = options.metadata_version
        if self.is_migrating_zk_broker and not version.is_migration_supported:
            options.lose("the isMigratingZkBroker state of one or more brokers")
        if self.directories and not version.is_directory_assignment_supported:
            options.lose("the online log directories of one or more brokers")
        cordoned = self.cordoned_directories
        if cordoned is not None and not version.is_cordoned_log_dirs_supported:
            options.lose("the cordoned log directories of one or more brokers")
            cordoned = None
        record = RegisterBrokerRecord(
            broker_id=self.id,
            broker_epoch=self.epoch,
            incarnation_id=self.incarnation_id,
            end_points=[
                BrokerEndpoint(name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol)
                for e in self.listeners.values()
            ],
            features=[
                BrokerFeature(name=name, min_supported_version=levels.min, max_supported_version=levels.max)
                for name, levels in self.supported_features.items()
            ],
            rack=self.rack,
            fenced=self.fenced,
            in_controlled_shutdown=self.in_controlled_shutdown,
            is_migrating_zk_broker=self.is_migrating_zk_broker and version.is_migration_supported,
            log_dirs=list(self.directories) if version.is_directory_assignment_supported else [],
            cordoned_log_dirs=None if cordoned is None else list(cordoned),
        )
        return MetadataRecord(record, version.register_broker_record_version)


@dataclass(frozen=True, slots=True)
class ControllerRegistration:
    id: int
    incarnation_id: bytes
    zk_migration_ready: bool
    listeners: Mapping[str, Endpoint]
    supported_features: Mapping[str, VersionRange]

    def to_record(self) -> MetadataRecord:
        record = RegisterControllerRecord(
            controller_id=self.id,
            incarnation_id=self.incarnation_id,
            zk_migration_ready=self.zk_migration_ready,
            end_points=[
                ControllerEndpoint(name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol)
                for e in self.listeners.values()
            ],
            features=[
                ControllerFeature(name=name, min_supported_version=levels.min, max_supported_version=levels.max)
                for name, levels in self.supported_features.items()
            ],
        )
        return MetadataRecord(record, 0)


def broker_from_record(record: RegisterBrokerRecord) -> BrokerRegistration:
    return BrokerRegistration(
        id=record.broker_id,
        epoch=record.broker_epoch,
        incarnation_id=record.incarnation_id,
        listeners=_endpoints(record.end_points),
        supported_features=_ranges(record.features),
        rack=record.rack,
        fenced=record.fenced,
        in_controlled_shutdown=record.in_controlled_shutdown,
        is_migrating_zk_broker=record.is_migrating_zk_broker,
        directories=tuple(sorted(record.log_dirs)),
        cordoned_directories=None if record.cordoned_log_dirs is None else tuple(record.cordoned_log_dirs),
    )


def controller_from_record(record: RegisterControllerRecord) -> ControllerRegistration:
    return ControllerRegistration(
        id=record.controller_id,
        incarnation_id=record.incarnation_id,
        zk_migration_ready=record.zk_migration_ready,
        listeners=_endpoints(record.end_points),
        supported_features=_ranges(record.features),
    )


def _endpoints(endpoints: list[BrokerEndpoint] | list[ControllerEndpoint]) -> dict[str, Endpoint]:
    return {e.name: Endpoint(e.name, e.host, e.port, e.security_protocol) for e in endpoints}


def _ranges(features: list[BrokerFeature] | list[ControllerFeature]) -> dict[str, VersionRange]:
    return {f.name: VersionRange(f.min_supported_version, f.max_supported_version) for f in features}


def _switched(current: bool, change: int) -> bool:
    """Apply a record's three-valued field: 1 sets, -1 clears, 0 leaves."""
    return current if change == 0 else change > 0
