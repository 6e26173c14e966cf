"""UpdateRaftVoterResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class CurrentLeader(Message):
    __slots__ = (
        "host",
        "leader_epoch",
        "leader_id",
        "port",
    )

    def __init__(
        self,
        *,
        leader_id: int = -1,
        leader_epoch: int = -1,
        host: str = "",
        port: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.host = host
        self.port = port
        self.unknown_tagged_fields = unknown_tagged_fields


class UpdateRaftVoterResponse(Message):
    __slots__ = (
        "current_leader",
        "error_code",
        "throttle_time_ms",
    )

    API_KEY = 82
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
UpdateRaftVoterResponse response module=clients key=82 versions=0 flexible=0+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
  CurrentLeader CurrentLeader 0+ tag=0
    LeaderId int32 0+ default=-1 entity=brokerId
    LeaderEpoch int32 0+ default=-1
    Host string 0+
    Port int32 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        current_leader: CurrentLeader = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.current_leader: CurrentLeader = CurrentLeader() if current_leader is DEFAULT else current_leader
        self.unknown_tagged_fields = unknown_tagged_fields
