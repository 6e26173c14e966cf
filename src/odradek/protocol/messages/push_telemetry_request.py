"""PushTelemetryRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import Message


class PushTelemetryRequest(Message):
    __slots__ = (
        "client_instance_id",
        "compression_type",
        "metrics",
        "subscription_id",
        "terminating",
    )

    API_KEY = 72
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
PushTelemetryRequest request module=clients key=72 versions=0 flexible=0+
  ClientInstanceId uuid 0+
  SubscriptionId int32 0+
  Terminating bool 0+
  CompressionType int8 0+
  Metrics bytes 0+
"""

    def __init__(
        self,
        *,
        client_instance_id: bytes = ZERO_UUID,
        subscription_id: int = 0,
        terminating: bool = False,
        compression_type: int = 0,
        metrics: bytes = b"",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.terminating = terminating
        self.compression_type = compression_type
        self.metrics = metrics
        self.unknown_tagged_fields = unknown_tagged_fields
