"""A controller with a log that commits when told, and the requests that tests send it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from odradek.common.failures import ApiError
from odradek.controller.quorum_controller import Append, QuorumController
from odradek.metadata.image.partition_registration import PartitionRegistration
from odradek.metadata.publishing.loader import MetadataBatch
from odradek.metadata.publishing.publisher import LeaderAndEpoch
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.message import Message
from odradek.protocol.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.create_topics_request import CreateTopicsRequest
from odradek.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.sim.controller.setup import (
    CLUSTER_ID,
    ManualClock,
    as_batch,
    bootstrap_records,
    directory_of,
    make_controller,
    registration,
    topic,
)

__all__ = [
    "CLUSTER_ID",
    "Bench",
    "ManualClock",
    "as_batch",
    "bootstrap_records",
    "directory_of",
    "make_controller",
    "registration",
    "topic",
]


@dataclass
class Bench:
    """One active controller; everything is committed at once unless `hold` is set."""

    clock: ManualClock = field(default_factory=ManualClock)
    controller: QuorumController = field(init=False)
    hold: bool = False
    held: list[MetadataBatch] = field(default_factory=list)
    log: list[MetadataBatch] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.controller = make_controller(1, self.clock, **self.options)
        self.take(self.controller.leader_changed(LeaderAndEpoch(1, 1), 0))

    def take(self, appends: Sequence[Append]) -> list[MetadataRecord]:
        batches = [as_batch(append) for append in appends]
        self.held += batches
        if not self.hold:
            self.commit()
        return [record for batch in batches for record in batch.records]

    def commit(self) -> None:
        self.log += self.held
        self.controller.committed(self.held, None)
        self.held = []

    def ask(self, request: Message) -> Any:
        """The response; ApiError where the whole request is refused."""
        submission = self.controller.handle(request)
        self.take(submission.appends)
        answers = {answer.id: answer for answer in self.controller.take_results()}
        answer = answers[submission.id]
        if answer.error is not None:
            raise answer.error
        return answer.response

    def refusal(self, request: Message) -> ApiError:
        try:
            answered = self.ask(request)
        except ApiError as error:
            return error
        raise AssertionError(f"not refused: {answered}")

    def tick(self, later_ms: int = 0) -> list[MetadataRecord]:
        self.clock.now_ms += later_ms
        return self.take(self.controller.tick(self.clock.now_ms))

    def add_broker(self, broker_id: int, *, rack: str | None = None, unfence: bool = True, **fields: Any) -> int:
        """Its epoch."""
        epoch = self.ask(registration(broker_id, rack=rack, **fields)).broker_epoch
        assert isinstance(epoch, int)
        if unfence:
            assert not self.ask(self.beat(broker_id)).is_fenced
        return epoch

    def beat(self, broker_id: int, **fields: Any) -> BrokerHeartbeatRequest:
        broker = self.controller.controls.cluster.brokers[broker_id]
        offset = self.controller.next_write_offset - 1
        values = {"broker_id": broker_id, "broker_epoch": broker.epoch, "current_metadata_offset": offset}
        return BrokerHeartbeatRequest(**{**values, **fields})

    def partition(self, topic_id: bytes, number: int = 0) -> PartitionRegistration:
        return self.controller.controls.registry.topics[topic_id].partitions[number]

    def isr(self, topic_id: bytes, number: int, isr: list[int], **fields: Any) -> AlterPartitionRequest:
        """What the partition's leader asks for when these replicas are in sync."""
        brokers = self.controller.controls.cluster.brokers
        partition = self.partition(topic_id, number)
        states = [BrokerState(broker_id=r, broker_epoch=brokers[r].epoch if r in brokers else -1) for r in isr]
        values = {"leader_epoch": partition.leader_epoch, "partition_epoch": partition.partition_epoch}
        data = PartitionData(partition_index=number, **{**values, "new_isr_with_epochs": states, **fields})
        return AlterPartitionRequest(
            broker_id=partition.leader,
            broker_epoch=brokers[partition.leader].epoch,
            topics=[TopicData(topic_id=topic_id, partitions=[data])],
        )

    def set_config(self, kind: int, resource: str, name: str, value: str | None, op: int = 0) -> tuple[int, str]:
        config = AlterableConfig(name=name, config_operation=op, value=value)
        asked = AlterConfigsResource(resource_type=kind, resource_name=resource, configs=[config])
        result = self.ask(IncrementalAlterConfigsRequest(resources=[asked])).responses[0]
        return result.error_code, result.error_message

    def create(self, name: str, assignments: list[list[int]] | None = None, **fields: Any) -> bytes:
        response = self.ask(CreateTopicsRequest(topics=[topic(name, assignments, **fields)]))
        result = response.topics[0]
        assert result.error_code == 0, result
        assert isinstance(result.topic_id, bytes)
        return result.topic_id
