"""Access control entries of the metadata log.

Nothing is decided here yet: the requests that change entries are not served. The state is what the active controller
needs to decide them, and makes the controller's state equal to an image.
"""

from odradek.common.failures import check
from odradek.common.ids import uuid_to_text
from odradek.metadata.image.acls import StandardAcl, acl_from_record
from odradek.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from odradek.protocol.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord


class AclControl:
    def __init__(self) -> None:
        self.acls: dict[bytes, StandardAcl] = {}

    def replay(self, record: AccessControlEntryRecord) -> None:
        self.acls[record.id] = acl_from_record(record)

    def replay_remove(self, record: RemoveAccessControlEntryRecord) -> None:
        check(
            record.id in self.acls,
            f"a record removes the access control entry {uuid_to_text(record.id)}, which does not exist",
        )
        del self.acls[record.id]
