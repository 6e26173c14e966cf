"""SCRAM credentials of users: no passwords, only the values with which a server verifies one."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.metadata.image.immutable_map import MapDelta, SharedMap
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.metadata.records.writer_options import WriterOptions
from odradek.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from odradek.protocol.messages.user_scram_credential_record import UserScramCredentialRecord


class ScramUser(NamedTuple):
    #: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
    mechanism: int
    name: str


@dataclass(frozen=True, slots=True)
class ScramCredential:
    #: Not in the representation, so that no log line ever contains them.
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


@dataclass(frozen=True, slots=True)
class ScramImage:
    credentials: SharedMap[ScramUser, ScramCredential] = field(default_factory=SharedMap)

    @property
    def is_empty(self) -> bool:
        return not self.credentials

    def records(self, options: WriterOptions) -> Iterator[MetadataRecord]:
        if not options.metadata_version.is_scram_supported:
            if self.credentials:
                options.lose("SCRAM credentials")
            return
        for user, credential in sorted(self.credentials.items(), key=lambda item: item[0]):
            yield credential_record(user, credential)


class ScramDelta:
    def __init__(self, image: ScramImage) -> None:
        self.image = image
        self.credentials = MapDelta(image.credentials)

    def replay(self, record: UserScramCredentialRecord) -> None:
        self.credentials.put(ScramUser(record.mechanism, record.name), credential_from_record(record))

    def replay_remove(self, record: RemoveUserScramCredentialRecord) -> None:
        self.credentials.remove(ScramUser(record.mechanism, record.name))

    def finish_snapshot(self) -> None:
        self.credentials.finish_snapshot()

    def apply(self) -> ScramImage:
        return ScramImage(self.credentials.apply())


def credential_from_record(record: UserScramCredentialRecord) -> ScramCredential:
    return ScramCredential(bytes(record.salt), bytes(record.stored_key), bytes(record.server_key), record.iterations)


def credential_record(user: ScramUser, credential: ScramCredential) -> MetadataRecord:
    record = UserScramCredentialRecord(
        name=user.name,
        mechanism=user.mechanism,
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )
    return MetadataRecord(record, 0)
