"""Delegation tokens by id. The secret is computed from the id and is not in any record."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from odradek.metadata.image.immutable_map import MapDelta, SharedMap
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.metadata.records.writer_options import WriterOptions
from odradek.protocol.messages.delegation_token_record import DelegationTokenRecord
from odradek.protocol.messages.remove_delegation_token_record import RemoveDelegationTokenRecord


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """Principals are strings of the form `User:name`."""

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int


@dataclass(frozen=True, slots=True)
class DelegationTokensImage:
    tokens: SharedMap[str, DelegationToken] = field(default_factory=SharedMap)

    @property
    def is_empty(self) -> bool:
        return not self.tokens

    def records(self, options: WriterOptions) -> Iterator[MetadataRecord]:
        if not options.metadata_version.is_delegation_token_supported:
            if self.tokens:
                options.lose("delegation tokens")
            return
        for _, token in sorted(self.tokens.items(), key=lambda item: item[0]):
            yield token_record(token)


class DelegationTokensDelta:
    def __init__(self, image: DelegationTokensImage) -> None:
        self.image = image
        self.tokens = MapDelta(image.tokens)

    def replay(self, record: DelegationTokenRecord) -> None:
        self.tokens.put(record.token_id, token_from_record(record))

    def replay_remove(self, record: RemoveDelegationTokenRecord) -> None:
        self.tokens.remove(record.token_id)

    def finish_snapshot(self) -> None:
        self.tokens.finish_snapshot()

    def apply(self) -> DelegationTokensImage:
        return DelegationTokensImage(self.tokens.apply())


def token_from_record(record: DelegationTokenRecord) -> DelegationToken:
    return DelegationToken(
        token_id=record.token_id,
        owner=record.owner,
        requester=record.requester,
        renewers=tuple(record.renewers),
        issue_timestamp=record.issue_timestamp,
        max_timestamp=record.max_timestamp,
        expiration_timestamp=record.expiration_timestamp,
    )


def token_record(token: DelegationToken) -> MetadataRecord:
    record = DelegationTokenRecord(
        token_id=token.token_id,
        owner=token.owner,
        requester=token.requester,
        renewers=list(token.renewers),
        issue_timestamp=token.issue_timestamp,
        max_timestamp=token.max_timestamp,
        expiration_timestamp=token.expiration_timestamp,
    )
    return MetadataRecord(record, 0)
