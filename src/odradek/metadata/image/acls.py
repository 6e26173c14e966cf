"""Access control entries by their ids."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from odradek.common.failures import check
from odradek.common.ids import uuid_to_text
from odradek.metadata.image.immutable_map import MapDelta, SharedMap
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from odradek.protocol.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord


@dataclass(frozen=True, slots=True)
class StandardAcl:
    """The integers are Kafka's codes of resource types, pattern types, operations and permissions."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


@dataclass(frozen=True, slots=True)
class AclsImage:
    acls: SharedMap[bytes, StandardAcl] = field(default_factory=SharedMap)

    @property
    def is_empty(self) -> bool:
        return not self.acls

    def records(self) -> Iterator[MetadataRecord]:
        for acl_id, acl in sorted(self.acls.items(), key=lambda item: item[0]):
            yield acl_record(acl_id, acl)


class AclsDelta:
    def __init__(self, image: AclsImage) -> None:
        self.image = image
        self.acls = MapDelta(image.acls)

    def replay(self, record: AccessControlEntryRecord) -> None:
        self.acls.put(record.id, acl_from_record(record))

    def replay_remove(self, record: RemoveAccessControlEntryRecord) -> None:
        is_present = self.acls.get(record.id) is not None
        check(is_present, f"a record removes the access control entry {uuid_to_text(record.id)}, which does not exist")
        self.acls.remove(record.id)

    def finish_snapshot(self) -> None:
        self.acls.finish_snapshot()

    def apply(self) -> AclsImage:
        return AclsImage(self.acls.apply())


def acl_from_record(record: AccessControlEntryRecord) -> StandardAcl:
    return StandardAcl(
        resource_type=record.resource_type,
        resource_name=record.resource_name,
        pattern_type=record.pattern_type,
        principal=record.principal,
        host=record.host,
        operation=record.operation,
        permission_type=record.permission_type,
    )


def acl_record(acl_id: bytes, acl: StandardAcl) -> MetadataRecord:
    record = AccessControlEntryRecord(
        id=acl_id,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )
    return MetadataRecord(record, 0)
