"""RegisterControllerRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class ControllerEndpoint(Message):
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


class ControllerFeature(Message):
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


class RegisterControllerRecord(Message):
    __slots__ = (
        "controller_id",
        "end_points",
        "features",
        "incarnation_id",
        "zk_migration_ready",
    )

    API_KEY = 27
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
RegisterControllerRecord metadata module=metadata key=27 versions=0 flexible=0+
  ControllerId int32 0+
  IncarnationId uuid 0+
  ZkMigrationReady bool 0+
  EndPoints []ControllerEndpoint 0+
    Name string 0+ key
    Host string 0+
    Port uint16 0+
    SecurityProtocol int16 0+
  Features []ControllerFeature 0+
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
        end_points: list[ControllerEndpoint] = DEFAULT,
        features: list[ControllerFeature] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.controller_id = controller_id
        self.incarnation_id = incarnation_id
        self.zk_migration_ready = zk_migration_ready
        self.end_points: list[ControllerEndpoint] = [] if end_points is DEFAULT else end_points
        self.features: list[ControllerFeature] = [] if features is DEFAULT else features
        self.unknown_tagged_fields = unknown_tagged_fields
