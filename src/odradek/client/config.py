"""What a client is told in Kafka's client properties: names, time-outs, security.

Settings that no part of ours has a use for are left alone, as Kafka's clients do: the same file may serve a producer.
"""

from dataclasses import dataclass, field

from odradek.client.channel import ChannelConfig
from odradek.common.ports import FileSystem
from odradek.common.properties import Properties, read_properties

_SUPPORTED_PROTOCOL = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class ClientConfig:
    channel: ChannelConfig = field(default_factory=ChannelConfig)
    #: request.timeout.ms: one request.
    request_timeout_ms: int = 30_000
    #: default.api.timeout.ms: an operation with all its attempts.
    api_timeout_ms: int = 60_000


def read_client_config(files: FileSystem, path: str, defaults: ClientConfig) -> ClientConfig:
    """Raises InputError naming file, line and key; OSError if the file cannot be read."""
    properties = read_properties(files, path)
    protocol = properties.get("security.protocol", _SUPPORTED_PROTOCOL)
    if protocol != _SUPPORTED_PROTOCOL:
        raise properties.error(
            "security.protocol", f"{protocol} cannot be spoken yet; {_SUPPORTED_PROTOCOL} is the only one"
        )
    channel = defaults.channel
    return ClientConfig(
        ChannelConfig(
            client_id=properties.get("client.id") or channel.client_id,
            connect_timeout_ms=_ms(properties, "socket.connection.setup.timeout.ms", channel.connect_timeout_ms),
            reconnect_backoff_ms=_ms(properties, "reconnect.backoff.ms", channel.reconnect_backoff_ms),
            reconnect_backoff_max_ms=_ms(properties, "reconnect.backoff.max.ms", channel.reconnect_backoff_max_ms),
        ),
        _ms(properties, "request.timeout.ms", defaults.request_timeout_ms),
        _ms(properties, "default.api.timeout.ms", defaults.api_timeout_ms),
    )


def _ms(properties: Properties, key: str, default_ms: int) -> int:
    text = properties.get(key)
    if text is None:
        return default_ms
    if not text.strip().isdecimal():
        raise properties.error(key, f'"{text}" is no number of milliseconds')
    return int(text)
