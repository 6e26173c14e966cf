"""PartitionRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class PartitionRecord(Message):
    __slots__ = (
        "adding_replicas",
        "directories",
        "eligible_leader_replicas",
        "isr",
        "last_known_elr",
        "leader",
        "leader_epoch",
        "leader_recovery_state",
        "partition_epoch",
        "partition_id",
        "removing_replicas",
        "replicas",
        "topic_id",
    )

    API_KEY = 3
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 0
    SCHEMA = """
PartitionRecord metadata module=metadata key=3 versions=0-2 flexible=0+
  PartitionId int32 0+ default=-1
  TopicId uuid 0+
  Replicas []int32 0+ entity=brokerId
  Isr []int32 0+
  RemovingReplicas []int32 0+ entity=brokerId
  AddingReplicas []int32 0+ entity=brokerId
  Leader int32 0+ default=-1 entity=brokerId
  LeaderRecoveryState int8 0+ tag=0
  LeaderEpoch int32 0+ default=-1
  PartitionEpoch int32 0+ default=-1
  Directories []uuid 1+
  EligibleLeaderReplicas []int32 2+ nullable=2+ default=null tag=1 entity=brokerId
  LastKnownElr []int32 2+ nullable=2+ default=null tag=2 entity=brokerId
"""

    def __init__(
        self,
        *,
        partition_id: int = -1,
        topic_id: bytes = ZERO_UUID,
        replicas: list[int] = DEFAULT,
        isr: list[int] = DEFAULT,
        removing_replicas: list[int] = DEFAULT,
        adding_replicas: list[int] = DEFAULT,
        leader: int = -1,
        leader_recovery_state: int = 0,
        leader_epoch: int = -1,
        partition_epoch: int = -1,
        directories: list[bytes] = DEFAULT,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.replicas: list[int] = [] if replicas is DEFAULT else replicas
        self.isr: list[int] = [] if isr is DEFAULT else isr
        self.removing_replicas: list[int] = [] if removing_replicas is DEFAULT else removing_replicas
        self.adding_replicas: list[int] = [] if adding_replicas is DEFAULT else adding_replicas
        self.leader = leader
        self.leader_recovery_state = leader_recovery_state
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.directories: list[bytes] = [] if directories is DEFAULT else directories
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.unknown_tagged_fields = unknown_tagged_fields
