"""Brokers with replicas, a controller, a network between them, and producers that write to them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from odradek.common.ids import TopicPartition
from odradek.metadata.image.partition_registration import PartitionRegistration
from odradek.protocol.codec import decode, encode
from odradek.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from odradek.records.builder import BatchBuilder
from odradek.replica.partition_leader import ACKS_ALL
from odradek.replica.record_deletion import HIGH_WATERMARK
from odradek.replica.requests import DeleteRecordsEntry, ProduceResult
from odradek.sim.replica.broker import SimulatedBroker
from odradek.sim.replica.controller import CONTROLLER_ID, SimulatedController
from odradek.sim.replica.ledger import PartitionLedger
from odradek.sim.world.clock import SimulatedClock
from odradek.sim.world.network import Network
from odradek.sim.world.scheduler import Scheduler

TOPIC = "topic"
CLIENT_ID = 2_000

#: Longer than any answer is held back on purpose.
_REQUEST_TIMEOUT_MS = 1_200

Reply = Callable[[Any], None]


class ReplicaCluster:
    def __init__(
        self, seed: int, *, brokers: int, partitions: int, min_isr: int, elr: bool, through_codec: bool = False
    ) -> None:
        """`through_codec`: what brokers say to each other is encoded and decoded, as on a wire."""
        self.random = Random(seed)
        self.scheduler = Scheduler()
        self.clock = SimulatedClock(self.scheduler)
        self.network = Network(self.scheduler, self.random)
        self.min_isr = min_isr
        self._through_codec = through_codec
        self.segment_bytes = self.random.choice((400, 2_000, 1 << 20))
        self.ledgers = {
            TopicPartition(TOPIC, index): PartitionLedger(TopicPartition(TOPIC, index)) for index in range(partitions)
        }
        self.controller = SimulatedController(self.scheduler, self.random, elr=elr)
        self.controller.on_append = self._controller_decided
        self.brokers = [SimulatedBroker(self, broker_id) for broker_id in range(brokers)]
        self.produced = 0
        self.kills = 0

    @property
    def node_ids(self) -> list[int]:
        return [*(broker.id for broker in self.brokers), CONTROLLER_ID, CLIENT_ID]

    def trace(self, line: str) -> None:
        self.scheduler.trace(f"{self.scheduler.now_ms} {line}")

    # -- beginning

    def begin(self) -> None:
        """All brokers are up, and the topic is there."""
        for broker in self.brokers:
            broker.start()
        cluster = self.controller.core.controls.cluster
        self.scheduler.run_until(lambda: len(cluster.unfenced_ids()) == len(self.brokers), "all brokers are unfenced")
        assignments = []
        factor = self.random.randint(3, len(self.brokers))
        for tp in self.ledgers:
            replicas = self.random.sample(range(len(self.brokers)), factor)
            assignments.append(CreatableReplicaAssignment(partition_index=tp.partition, broker_ids=replicas))
        configs = [CreatableTopicConfig(name="min.insync.replicas", value=str(self.min_isr))]
        topic = CreatableTopic(
            name=TOPIC, num_partitions=-1, replication_factor=-1, assignments=assignments, configs=configs
        )
        self.controller.handle(CreateTopicsRequest(topics=[topic], timeout_ms=60_000), lambda _: None)
        self.scheduler.run_until(lambda: self.registration(next(iter(self.ledgers))) is not None, "the topic is there")

    def registration(self, tp: TopicPartition) -> PartitionRegistration | None:
        for topic in self.controller.core.controls.registry.topics.values():
            partition: PartitionRegistration | None = topic.partitions.get(tp.partition)
            return partition
        return None

    def is_unfenced(self, broker: SimulatedBroker) -> bool:
        """Return whether the controller has unfenced the current process of the broker."""
        registration = self.controller.core.controls.cluster.brokers.get(broker.id)
        return (
            registration is not None
            and registration.is_active
            and registration.epoch == broker.manager.view.broker_epoch
        )

    def _controller_decided(self) -> None:
        brokers = self.controller.core.controls.cluster.brokers
        epochs = {broker_id: broker.epoch for broker_id, broker in brokers.items()}
        for tp, ledger in self.ledgers.items():
            registration = self.registration(tp)
            if registration is None:
                continue
            if registration != ledger.registration:
                self.trace(f"{tp} leader {registration.leader} isr {registration.isr} elr {registration.elr}")
            ledger.note_registration(registration, epochs)

    def check(self, broker: SimulatedBroker) -> None:
        for tp, partition in broker.manager.partitions.online.items():
            ledger = self.ledgers.get(tp)
            if ledger is not None:
                ledger.check(broker.id, partition)

    # -- messages

    def call_controller(
        self, source: SimulatedBroker, serve: Callable[[Reply], None], on_response: Reply, failed: Callable[[], None]
    ) -> None:
        self._call(source, CONTROLLER_ID, lambda deliver: deliver(), serve, on_response, failed)

    def call_broker(
        self,
        source: SimulatedBroker,
        target: SimulatedBroker,
        serve: Callable[[Reply], None],
        on_response: Reply,
        failed: Callable[[], None],
    ) -> None:
        self._call(source, target.id, lambda deliver: self._at_broker(target, deliver), serve, on_response, failed)

    def _at_broker(self, target: SimulatedBroker, deliver: Callable[[], None]) -> None:
        if target.is_alive:
            target.on(deliver)()

    def _call(
        self,
        source: SimulatedBroker,
        target_id: int,
        at_target: Callable[[Callable[[], None]], None],
        serve: Callable[[Reply], None],
        on_response: Reply,
        failed: Callable[[], None],
    ) -> None:
        """A request, and its answer or nothing: then `failed`, and what comes later is ignored."""
        is_over, incarnation = False, source.incarnation

        def finish(action: Callable[[], None]) -> None:
            nonlocal is_over
            if not is_over:
                is_over = True
                action()

        def reply(response: Any) -> None:
            arrive = source.on(lambda: finish(lambda: on_response(response)), incarnation)
            self.network.send(target_id, source.id, arrive)

        self.network.send(source.id, target_id, lambda: at_target(lambda: serve(reply)))
        self.scheduler.after(_REQUEST_TIMEOUT_MS, source.on(lambda: finish(failed)))

    def wired(self, message: Any, version: int) -> Any:
        return decode(type(message), version, encode(message, version)) if self._through_codec else message

    # -- producers

    def delete_records(self) -> None:
        """All that consumers can see goes."""
        tp = self.random.choice(list(self.ledgers))
        broker = self.random.choice(self.brokers)

        def deliver() -> None:
            entries = [DeleteRecordsEntry(tp, HIGH_WATERMARK)]
            self._at_broker(broker, lambda: broker.manager.deletion.delete(entries, 1_000, lambda _: None))

        self.network.send(CLIENT_ID, broker.id, deliver)

    def produce(self) -> None:
        """A few records, most often to the leader."""
        tp = self.random.choice(list(self.ledgers))
        registration = self.registration(tp)
        target = self.random.choice(self.brokers)
        if registration is not None and registration.leader >= 0 and self.random.random() < 0.85:
            target = self.brokers[registration.leader]
        acks = ACKS_ALL if self.random.random() < 0.85 else 1
        values = [f"value {self.produced + index}".encode() for index in range(self.random.randint(1, 3))]
        self.produced += len(values)
        builder = BatchBuilder()
        for value in values:
            builder.append(self.clock.wall_ms(), None, value)
        records = builder.build()

        def on_result(result: ProduceResult) -> None:
            self.trace(f"{tp} produced at {target.id} acks {acks}: {result.error_code} {result.base_offset}")
            if result.error_code == 0 and acks == ACKS_ALL:
                self.check(target)
                for index, value in enumerate(values):
                    self.ledgers[tp].note_acked(result.base_offset + index, value)

        def deliver() -> None:
            self._at_broker(target, lambda: target.produce(tp, records, acks, on_result))

        self.network.send(CLIENT_ID, target.id, deliver)
