"""AlterPartitionRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class BrokerState(Message):
    __slots__ = (
        "broker_epoch",
        "broker_id",
    )

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = -1,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.unknown_tagged_fields = unknown_tagged_fields


class PartitionData(Message):
    __slots__ = (
        "leader_epoch",
        "leader_recovery_state",
        "new_isr",
        "new_isr_with_epochs",
        "partition_epoch",
        "partition_index",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        leader_epoch: int = 0,
        new_isr: list[int] = DEFAULT,
        new_isr_with_epochs: list[BrokerState] = DEFAULT,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.leader_epoch = leader_epoch
        self.new_isr: list[int] = [] if new_isr is DEFAULT else new_isr
        self.new_isr_with_epochs: list[BrokerState] = [] if new_isr_with_epochs is DEFAULT else new_isr_with_epochs
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch
        self.unknown_tagged_fields = unknown_tagged_fields


class TopicData(Message):
    __slots__ = (
        "partitions",
        "topic_id",
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        partitions: list[PartitionData] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[PartitionData] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterPartitionRequest(Message):
    __slots__ = (
        "broker_epoch",
        "broker_id",
        "topics",
    )

    API_KEY = 56
    VERSIONS = (2, 3)
    FLEXIBLE_FROM = 0
    SCHEMA = """
AlterPartitionRequest request module=clients key=56 versions=2-3 flexible=0+
  BrokerId int32 0+ entity=brokerId
  BrokerEpoch int64 0+ default=-1
  Topics []TopicData 0+
    TopicId uuid 2+ ignorable
    Partitions []PartitionData 0+
      PartitionIndex int32 0+
      LeaderEpoch int32 0+
      NewIsr []int32 0-2 entity=brokerId
      NewIsrWithEpochs []BrokerState 3+
        BrokerId int32 3+ entity=brokerId
        BrokerEpoch int64 3+ default=-1
      LeaderRecoveryState int8 1+
      PartitionEpoch int32 0+
"""

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = -1,
        topics: list[TopicData] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.topics: list[TopicData] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
