"""Settings of the client behind the commands about a cluster, from Kafka's client properties.

The same file may serve producers and consumers, so their settings are left alone. What is rejected for clients is
rejected here too; settings without an effect and unknown ones are logged.
"""

import logging
from dataclasses import dataclass, field

from odradek.client.net.channel import ChannelConfig
from odradek.client.settings.parsing import Kind, definitions
from odradek.client.settings.support import client_support
from odradek.common.config_definition import ConfigDefinition
from odradek.common.config_support import is_ignored, is_rejected
from odradek.common.ports import FileSystem
from odradek.common.properties import Properties, read_properties

logger = logging.getLogger("odradek.client")

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
    protocol = properties.get("security.protocol") or _SUPPORTED_PROTOCOL
    if protocol.strip().upper() != _SUPPORTED_PROTOCOL:
        raise properties.error(
            "security.protocol", f"{protocol} is not supported; {_SUPPORTED_PROTOCOL} is the only protocol"
        )
    _check_support(properties)
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


def _check_support(properties: Properties) -> None:
    for name, value in properties.values.items():
        definition, support = _definition(name), client_support(name)
        if definition is None:
            logger.warning("%s", properties.error(name, "unknown setting, ignored"))
        elif is_rejected(definition, support, value):
            raise properties.error(name, support.sentence)
        elif is_ignored(definition, support, value):
            logger.warning("%s", properties.error(name, f"it has no effect: {support.sentence}"))


def _definition(name: str) -> ConfigDefinition | None:
    """Return the definition from any kind of client that has the setting; None for an unknown name."""
    return next((definitions(kind)[name] for kind in Kind if name in definitions(kind)), None)


def _ms(properties: Properties, key: str, default_ms: int) -> int:
    text = properties.get(key)
    if text is None:
        return default_ms
    if not text.strip().isdecimal():
        raise properties.error(key, f'"{text}" is no number of milliseconds')
    return int(text)
