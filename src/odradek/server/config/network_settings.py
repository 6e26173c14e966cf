"""Limits of connections that may change while the node runs. Those that are open stay open, however many they are."""

from odradek.network.creation_rate import CreationRate
from odradek.network.limits import ConnectionQuotas
from odradek.server.config.dynamic_config import DynamicConfig
from odradek.server.config.dynamic_rules import PER_IP_OVERRIDES, per_ip_overrides
from odradek.server.config.settings import Settings

_MAX, _PER_IP = "max.connections", "max.connections.per.ip"
_RATE = "max.connection.creation.rate"


def follow_connection_limits(dynamic: DynamicConfig, quotas: ConnectionQuotas, rate: CreationRate) -> None:
    def limit(settings: Settings) -> None:
        quotas.connections_max = settings.whole(_MAX)
        quotas.per_ip_max = settings.whole(_PER_IP)
        quotas.per_ip_overrides = per_ip_overrides(settings)
        rate.per_second = settings.whole(_RATE)

    dynamic.subscribe((_MAX, _PER_IP, PER_IP_OVERRIDES, _RATE), limit)
