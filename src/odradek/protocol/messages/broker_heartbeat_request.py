"""BrokerHeartbeatRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class BrokerHeartbeatRequest(Message):
    __slots__ = (
        "broker_epoch",
        "broker_id",
        "cordoned_log_dirs",
        "current_metadata_offset",
        "offline_log_dirs",
        "want_fence",
        "want_shut_down",
    )

    API_KEY = 63
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 0
    SCHEMA = """
BrokerHeartbeatRequest request module=clients key=63 versions=0-2 flexible=0+
  BrokerId int32 0+ entity=brokerId
  BrokerEpoch int64 0+ default=-1
  CurrentMetadataOffset int64 0+
  WantFence bool 0+
  WantShutDown bool 0+
  OfflineLogDirs []uuid 1+ tag=0
  CordonedLogDirs []uuid 2+ nullable=2+ default=null tag=1
"""

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = -1,
        current_metadata_offset: int = 0,
        want_fence: bool = False,
        want_shut_down: bool = False,
        offline_log_dirs: list[bytes] = DEFAULT,
        cordoned_log_dirs: list[bytes] | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.current_metadata_offset = current_metadata_offset
        self.want_fence = want_fence
        self.want_shut_down = want_shut_down
        self.offline_log_dirs: list[bytes] = [] if offline_log_dirs is DEFAULT else offline_log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
        self.unknown_tagged_fields = unknown_tagged_fields
