"""UnregisterBrokerRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class UnregisterBrokerRecord(Message):
    __slots__ = (
        "broker_epoch",
        "broker_id",
    )

    API_KEY = 1
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
UnregisterBrokerRecord metadata module=metadata key=1 versions=0 flexible=0+
  BrokerId int32 0+ entity=brokerId
  BrokerEpoch int64 0+
"""

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.unknown_tagged_fields = unknown_tagged_fields
