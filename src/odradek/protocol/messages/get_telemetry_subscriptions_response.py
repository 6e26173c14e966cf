"""GetTelemetrySubscriptionsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class GetTelemetrySubscriptionsResponse(Message):
    __slots__ = (
        "accepted_compression_types",
        "client_instance_id",
        "delta_temporality",
        "error_code",
        "push_interval_ms",
        "requested_metrics",
        "subscription_id",
        "telemetry_max_bytes",
        "throttle_time_ms",
    )

    API_KEY = 71
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
GetTelemetrySubscriptionsResponse response module=clients key=71 versions=0 flexible=0+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
  ClientInstanceId uuid 0+
  SubscriptionId int32 0+
  AcceptedCompressionTypes []int8 0+
  PushIntervalMs int32 0+
  TelemetryMaxBytes int32 0+
  DeltaTemporality bool 0+
  RequestedMetrics []string 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        client_instance_id: bytes = ZERO_UUID,
        subscription_id: int = 0,
        accepted_compression_types: list[int] = DEFAULT,
        push_interval_ms: int = 0,
        telemetry_max_bytes: int = 0,
        delta_temporality: bool = False,
        requested_metrics: list[str] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.accepted_compression_types: list[int] = (
            [] if accepted_compression_types is DEFAULT else accepted_compression_types
        )
        self.push_interval_ms = push_interval_ms
        self.telemetry_max_bytes = telemetry_max_bytes
        self.delta_temporality = delta_temporality
        self.requested_metrics: list[str] = [] if requested_metrics is DEFAULT else requested_metrics
        self.unknown_tagged_fields = unknown_tagged_fields
