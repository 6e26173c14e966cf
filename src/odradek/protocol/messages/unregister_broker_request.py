"""UnregisterBrokerRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class UnregisterBrokerRequest(Message):
    __slots__ = ("broker_id",)

    API_KEY = 64
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
UnregisterBrokerRequest request module=clients key=64 versions=0 flexible=0+
  BrokerId int32 0+ entity=brokerId
"""

    def __init__(
        self,
        *,
        broker_id: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.unknown_tagged_fields = unknown_tagged_fields
