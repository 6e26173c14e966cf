"""Access control entries, SCRAM credentials and delegation tokens: kept as the log says them.

Nothing is decided here yet; the requests that change them belong to the security room's APIs. What is kept is what the
active controller must know to decide then, and what makes its state the image's.
"""

from odradek.common.failures import check
from odradek.common.ids import uuid_to_text
from odradek.metadata.image.acls import StandardAcl, acl_from_record
from odradek.metadata.image.delegation_tokens import DelegationToken, token_from_record
from odradek.metadata.image.scram import ScramCredential, ScramUser, credential_from_record
from odradek.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from odradek.protocol.messages.delegation_token_record import DelegationTokenRecord
from odradek.protocol.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from odradek.protocol.messages.remove_delegation_token_record import RemoveDelegationTokenRecord
from odradek.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from odradek.protocol.messages.user_scram_credential_record import UserScramCredentialRecord


class AclControl:
    def __init__(self) -> None:
        self.acls: dict[bytes, StandardAcl] = {}

    def replay(self, record: AccessControlEntryRecord) -> None:
        self.acls[record.id] = acl_from_record(record)

    def replay_remove(self, record: RemoveAccessControlEntryRecord) -> None:
        check(record.id in self.acls, f"a record removes the access control entry {uuid_to_text(record.id)}, unknown")
        del self.acls[record.id]


class ScramControl:
    def __init__(self) -> None:
        self.credentials: dict[ScramUser, ScramCredential] = {}

    def replay(self, record: UserScramCredentialRecord) -> None:
        self.credentials[ScramUser(record.mechanism, record.name)] = credential_from_record(record)

    def replay_remove(self, record: RemoveUserScramCredentialRecord) -> None:
        self.credentials.pop(ScramUser(record.mechanism, record.name), None)


class DelegationTokenControl:
    def __init__(self) -> None:
        self.tokens: dict[str, DelegationToken] = {}

    def replay(self, record: DelegationTokenRecord) -> None:
        self.tokens[record.token_id] = token_from_record(record)

    def replay_remove(self, record: RemoveDelegationTokenRecord) -> None:
        self.tokens.pop(record.token_id, None)
