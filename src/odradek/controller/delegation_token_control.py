"""Delegation tokens of the metadata log. Requests that change them are not served yet."""

from odradek.metadata.image.delegation_tokens import DelegationToken, token_from_record
from odradek.protocol.messages.delegation_token_record import DelegationTokenRecord
from odradek.protocol.messages.remove_delegation_token_record import RemoveDelegationTokenRecord


class DelegationTokenControl:
    def __init__(self) -> None:
        self.tokens: dict[str, DelegationToken] = {}

    def replay(self, record: DelegationTokenRecord) -> None:
        self.tokens[record.token_id] = token_from_record(record)

    def replay_remove(self, record: RemoveDelegationTokenRecord) -> None:
        self.tokens.pop(record.token_id, None)
