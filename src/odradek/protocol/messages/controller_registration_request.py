"""ControllerRegistrationRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class Listener(Message):
    __slots__ = (
        "host",
        "name",
        "port",
        "security_protocol",
    )

    def __init__(
        self,
        *,
        name: str = "",
        host: str = "",
        port: int = 0,
        security_protocol: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol
        self.unknown_tagged_fields = unknown_tagged_fields


class Feature(Message):
    __slots__ = (
        "max_supported_version",
        "min_supported_version",
        "name",
    )

    def __init__(
        self,
        *,
        name: str = "",
        min_supported_version: int = 0,
        max_supported_version: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version
        self.unknown_tagged_fields = unknown_tagged_fields


class ControllerRegistrationRequest(Message):
    __slots__ = (
        "controller_id",
        "features",
        "incarnation_id",
        "listeners",
        "zk_migration_ready",
    )

    API_KEY = 70
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ControllerRegistrationRequest request module=clients key=70 versions=0 flexible=0+
  ControllerId int32 0+
  IncarnationId uuid 0+
  ZkMigrationReady bool 0+
  Listeners []Listener 0+
    Name string 0+ key
    Host string 0+
    Port uint16 0+
    SecurityProtocol int16 0+
  Features []Feature 0+
    Name string 0+ key
    MinSupportedVersion int16 0+
    MaxSupportedVersion int16 0+
"""

    def __init__(
        self,
        *,
        controller_id: int = 0,
        incarnation_id: bytes = ZERO_UUID,
        zk_migration_ready: bool = False,
        listeners: list[Listener] = DEFAULT,
        features: list[Feature] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.controller_id = controller_id
        self.incarnation_id = incarnation_id
        self.zk_migration_ready = zk_migration_ready
        self.listeners: list[Listener] = [] if listeners is DEFAULT else listeners
        self.features: list[Feature] = [] if features is DEFAULT else features
        self.unknown_tagged_fields = unknown_tagged_fields
