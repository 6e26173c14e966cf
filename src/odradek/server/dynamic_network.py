"""Limits of connections that may change while the node runs. Those that are open stay open, however many they are."""

from odradek.network.creation_rate import CreationRate
from odradek.network.limits import ConnectionQuotas
from odradek.server.dynamic_config import DynamicConfig
from odradek.server.settings import Settings

_MAX, _PER_IP, _OVERRIDES = "max.connections", "max.connections.per.ip", "max.connections.per.ip.overrides"
_RATE = "max.connection.creation.rate"


def per_ip_overrides(settings: Settings) -> dict[str, int]:
    entries = [entry.rpartition(":") for entry in settings.items(_OVERRIDES) if entry]
    return {host: int(limit) for host, _, limit in entries}


def follow_connection_limits(dynamic: DynamicConfig, quotas: ConnectionQuotas, rate: CreationRate) -> None:
    def limit(settings: Settings) -> None:
        quotas.connections_max = settings.whole(_MAX)
        quotas.per_ip_max = settings.whole(_PER_IP)
        quotas.per_ip_overrides = per_ip_overrides(settings)
        rate.per_second = settings.whole(_RATE)

    dynamic.subscribe((_MAX, _PER_IP, _OVERRIDES, _RATE), limit)
