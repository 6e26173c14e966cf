"""SCRAM credentials of the metadata log. Requests that change them are not served yet."""

from odradek.metadata.image.scram import ScramCredential, ScramUser, credential_from_record
from odradek.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from odradek.protocol.messages.user_scram_credential_record import UserScramCredentialRecord


class ScramControl:
    def __init__(self) -> None:
        self.credentials: dict[ScramUser, ScramCredential] = {}

    def replay(self, record: UserScramCredentialRecord) -> None:
        self.credentials[ScramUser(record.mechanism, record.name)] = credential_from_record(record)

    def replay_remove(self, record: RemoveUserScramCredentialRecord) -> None:
        self.credentials.pop(ScramUser(record.mechanism, record.name), None)
