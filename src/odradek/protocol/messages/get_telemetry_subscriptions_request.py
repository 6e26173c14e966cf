"""GetTelemetrySubscriptionsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import Message


class GetTelemetrySubscriptionsRequest(Message):
    __slots__ = ("client_instance_id",)

    API_KEY = 71
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
GetTelemetrySubscriptionsRequest request module=clients key=71 versions=0 flexible=0+
  ClientInstanceId uuid 0+
"""

    def __init__(
        self,
        *,
        client_instance_id: bytes = ZERO_UUID,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.client_instance_id = client_instance_id
        self.unknown_tagged_fields = unknown_tagged_fields
