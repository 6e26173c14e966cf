"""RegisterBrokerRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class BrokerEndpoint(Message):
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


class BrokerFeature(Message):
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


class RegisterBrokerRecord(Message):
    __slots__ = (
        "broker_epoch",
        "broker_id",
        "cordoned_log_dirs",
        "end_points",
        "features",
        "fenced",
        "in_controlled_shutdown",
        "incarnation_id",
        "is_migrating_zk_broker",
        "log_dirs",
        "rack",
    )

    API_KEY = 0
    VERSIONS = (0, 4)
    FLEXIBLE_FROM = 0
    SCHEMA = """
RegisterBrokerRecord metadata module=metadata key=0 versions=0-4 flexible=0+
  BrokerId int32 0+ entity=brokerId
  IsMigratingZkBroker bool 2+
  IncarnationId uuid 0+
  BrokerEpoch int64 0+
  EndPoints []BrokerEndpoint 0+
    Name string 0+ key
    Host string 0+
    Port uint16 0+
    SecurityProtocol int16 0+
  Features []BrokerFeature 0+
    Name string 0+ key
    MinSupportedVersion int16 0+
    MaxSupportedVersion int16 0+
  Rack string 0+ nullable=0+
  Fenced bool 0+ default=true
  InControlledShutdown bool 1+
  LogDirs []uuid 3+ tag=0
  CordonedLogDirs []uuid 4+ nullable=4+ default=null tag=1
"""

    def __init__(
        self,
        *,
        broker_id: int = 0,
        is_migrating_zk_broker: bool = False,
        incarnation_id: bytes = ZERO_UUID,
        broker_epoch: int = 0,
        end_points: list[BrokerEndpoint] = DEFAULT,
        features: list[BrokerFeature] = DEFAULT,
        rack: str | None = "",
        fenced: bool = True,
        in_controlled_shutdown: bool = False,
        log_dirs: list[bytes] = DEFAULT,
        cordoned_log_dirs: list[bytes] | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.incarnation_id = incarnation_id
        self.broker_epoch = broker_epoch
        self.end_points: list[BrokerEndpoint] = [] if end_points is DEFAULT else end_points
        self.features: list[BrokerFeature] = [] if features is DEFAULT else features
        self.rack = rack
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs: list[bytes] = [] if log_dirs is DEFAULT else log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
        self.unknown_tagged_fields = unknown_tagged_fields
