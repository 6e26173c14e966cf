"""PartitionChangeRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import Message


class PartitionChangeRecord(Message):
    __slots__ = (
        "adding_replicas",
        "directories",
        "eligible_leader_replicas",
        "isr",
        "last_known_elr",
        "leader",
        "leader_recovery_state",
        "partition_id",
        "removing_replicas",
        "replicas",
        "topic_id",
    )

    API_KEY = 5
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 0
    SCHEMA = """
PartitionChangeRecord metadata module=metadata key=5 versions=0-2 flexible=0+
  PartitionId int32 0+ default=-1
  TopicId uuid 0+
  Isr []int32 0+ nullable=0+ default=null tag=0 entity=brokerId
  Leader int32 0+ default=-2 tag=1 entity=brokerId
  Replicas []int32 0+ nullable=0+ default=null tag=2 entity=brokerId
  RemovingReplicas []int32 0+ nullable=0+ default=null tag=3 entity=brokerId
  AddingReplicas []int32 0+ nullable=0+ default=null tag=4 entity=brokerId
  LeaderRecoveryState int8 0+ default=-1 tag=5
  Directories []uuid 1+ nullable=1+ default=null tag=8
  EligibleLeaderReplicas []int32 2+ nullable=2+ default=null tag=6 entity=brokerId
  LastKnownElr []int32 2+ nullable=2+ default=null tag=7 entity=brokerId
"""

    def __init__(
        self,
        *,
        partition_id: int = -1,
        topic_id: bytes = ZERO_UUID,
        isr: list[int] | None = None,
        leader: int = -2,
        replicas: list[int] | None = None,
        removing_replicas: list[int] | None = None,
        adding_replicas: list[int] | None = None,
        leader_recovery_state: int = -1,
        directories: list[bytes] | None = None,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.isr = isr
        self.leader = leader
        self.replicas = replicas
        self.removing_replicas = removing_replicas
        self.adding_replicas = adding_replicas
        self.leader_recovery_state = leader_recovery_state
        self.directories = directories
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.unknown_tagged_fields = unknown_tagged_fields
