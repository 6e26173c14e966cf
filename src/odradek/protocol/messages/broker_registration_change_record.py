"""BrokerRegistrationChangeRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class BrokerRegistrationChangeRecord(Message):
    __slots__ = (
        "broker_epoch",
        "broker_id",
        "cordoned_log_dirs",
        "fenced",
        "in_controlled_shutdown",
        "log_dirs",
    )

    API_KEY = 17
    VERSIONS = (0, 3)
    FLEXIBLE_FROM = 0
    SCHEMA = """
BrokerRegistrationChangeRecord metadata module=metadata key=17 versions=0-3 flexible=0+
  BrokerId int32 0+ entity=brokerId
  BrokerEpoch int64 0+
  Fenced int8 0+ tag=0
  InControlledShutdown int8 1+ tag=1
  LogDirs []uuid 2+ tag=2
  CordonedLogDirs []uuid 3+ nullable=3+ default=null tag=3
"""

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = 0,
        fenced: int = 0,
        in_controlled_shutdown: int = 0,
        log_dirs: list[bytes] = DEFAULT,
        cordoned_log_dirs: list[bytes] | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs: list[bytes] = [] if log_dirs is DEFAULT else log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
        self.unknown_tagged_fields = unknown_tagged_fields
