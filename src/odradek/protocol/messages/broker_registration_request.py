"""BrokerRegistrationRequest. Made by tools/make_messages.py from tables/messages.txt."""

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


class BrokerRegistrationRequest(Message):
    __slots__ = (
        "broker_id",
        "cluster_id",
        "features",
        "incarnation_id",
        "is_migrating_zk_broker",
        "listeners",
        "log_dirs",
        "previous_broker_epoch",
        "rack",
    )

    API_KEY = 62
    VERSIONS = (0, 4)
    FLEXIBLE_FROM = 0
    SCHEMA = """
BrokerRegistrationRequest request module=clients key=62 versions=0-4 flexible=0+
  BrokerId int32 0+ entity=brokerId
  ClusterId string 0+
  IncarnationId uuid 0+
  Listeners []Listener 0+
    Name string 0+ key
    Host string 0+
    Port uint16 0+
    SecurityProtocol int16 0+
  Features []Feature 0+
    Name string 0+ key
    MinSupportedVersion int16 0+
    MaxSupportedVersion int16 0+
  Rack string 0+ nullable=0+
  IsMigratingZkBroker bool 1+
  LogDirs []uuid 2+ ignorable
  PreviousBrokerEpoch int64 3+ default=-1 ignorable
"""

    def __init__(
        self,
        *,
        broker_id: int = 0,
        cluster_id: str = "",
        incarnation_id: bytes = ZERO_UUID,
        listeners: list[Listener] = DEFAULT,
        features: list[Feature] = DEFAULT,
        rack: str | None = "",
        is_migrating_zk_broker: bool = False,
        log_dirs: list[bytes] = DEFAULT,
        previous_broker_epoch: int = -1,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.cluster_id = cluster_id
        self.incarnation_id = incarnation_id
        self.listeners: list[Listener] = [] if listeners is DEFAULT else listeners
        self.features: list[Feature] = [] if features is DEFAULT else features
        self.rack = rack
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.log_dirs: list[bytes] = [] if log_dirs is DEFAULT else log_dirs
        self.previous_broker_epoch = previous_broker_epoch
        self.unknown_tagged_fields = unknown_tagged_fields
