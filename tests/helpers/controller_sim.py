"""Three controllers, some brokers, random operations and failures; everything from one seed.

Raft is reduced to what a controller sees of it: a log of which a beginning is committed, a leader that may lose what is
not, and standbys that hear of commits late. The checks are in `controller_checks` and at the end of this file.

As a program it prints a digest for each seed: `python -m helpers.controller_sim FIRST COUNT`.
"""

import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from helpers.controller import (
    CLUSTER_ID,
    ManualClock,
    as_batch,
    bootstrap_records,
    make_controller,
    registration,
    topic,
)
from helpers.controller_checks import RecordChecker, Violation, ensure
from odradek.common.failures import Fault
from odradek.controller.controls import Controls, ControlSettings
from odradek.controller.feature_control import QuorumFeatures
from odradek.controller.quorum_controller import Append, QuorumController
from odradek.metadata.features.metadata_version import MetadataVersion
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY, MetadataProvenance
from odradek.metadata.publishing.loader import MetadataBatch, MetadataLoader
from odradek.metadata.publishing.publisher import LeaderAndEpoch
from odradek.metadata.records.record_serde import encode_record
from odradek.protocol.message import Message
from odradek.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from odradek.protocol.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from odradek.protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.protocol.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.protocol.messages.create_topics_request import CreateTopicsRequest
from odradek.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from odradek.protocol.messages.elect_leaders_request import ElectLeadersRequest
from odradek.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from odradek.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest

BROKERS = 5
NODES = (101, 102, 103)


@dataclass
class SimBroker:
    id: int
    incarnation: int = 1
    epoch: int = -1
    alive: bool = False
    stopping: bool = False


@dataclass
class Run:
    seed: int
    steps: int = 150
    operations: int = 0
    records: int = 0
    failovers: int = 0
    fenced: int = 0
    digest: str = ""


@dataclass
class Simulation:
    run: Run
    make: Callable[..., QuorumController] = make_controller
    log: list[MetadataBatch] = field(default_factory=list)
    committed_batches: int = 0

    def __post_init__(self) -> None:
        self.random = Random(self.run.seed)
        self.clock = ManualClock()
        elr = self.random.random() < 0.7
        version = self.random.choice(list(MetadataVersion)[-8:]) if self.random.random() < 0.3 else None
        self.bootstrap = bootstrap_records(*([version] if version else []), eligible_leader_replicas_version=int(elr))
        self.controllers = {node: self._new_controller(node) for node in NODES}
        self.delivered = dict.fromkeys(NODES, 0)
        self.brokers = [SimBroker(number) for number in range(BROKERS)]
        self.checker = RecordChecker(self._empty_controls())
        self.epoch = 0
        self.active: int | None = None
        self.waiting: dict[int, Callable[[Any], None]] = {}
        self.created: dict[str, bytes] = {}
        self.maybe_deleted: dict[bytes, None] = {}
        self.blocks: dict[int, None] = {}
        self.trace = hashlib.sha256()

    def execute(self) -> Run:
        try:
            self.elect(self.random.choice(NODES))
            for _ in range(self.run.steps):
                self.random.choice(self.STEPS)(self)
                if self.random.random() < 0.05:
                    self.check_everything()
            self.settle()
        except (Violation, Fault) as violation:
            raise Violation(f"seed {self.run.seed}: {violation}\n{reproduce(self.run.seed)}") from violation
        self.run.digest = self.trace.hexdigest()
        return self.run

    # The log

    @property
    def end_offset(self) -> int:
        return self.log[-1].last_offset + 1 if self.log else 0

    def append(self, appends: Sequence[Append], proposed_isr: Sequence[int] = ()) -> None:
        for append in appends:
            ensure(append.base_offset == self.end_offset, "an append that does not continue the log")
            ensure(append.epoch == self.epoch, "an append of a leader that was deposed")
            self.log.append(as_batch(append))
            self.run.records += len(append.records)
            for record in append.records:
                self.trace.update(encode_record(record))
            self.checker.check(append.records, append.base_offset, proposed_isr)

    def commit(self, most: int | None = None) -> None:
        pending = len(self.log) - self.committed_batches
        self.committed_batches += self.random.randint(0, pending) if most is None else pending
        for node in NODES:
            if node == self.active or most is not None or self.random.random() < 0.7:
                self.deliver(node)

    def deliver(self, node: int) -> None:
        batches = self.log[self.delivered[node] : self.committed_batches]
        if batches:
            self.controllers[node].committed(batches, None)
            self.delivered[node] = self.committed_batches
        for answer in self.controllers[node].take_results():
            code = 0 if answer.error is None else answer.error.code
            self.trace.update(f"{answer.id}:{code};".encode())
            done = self.waiting.pop(answer.id, None) if node == self.active else None
            if done is not None and answer.error is None:
                done(answer.response)

    # Controllers

    def _new_controller(self, node: int) -> QuorumController:
        return self.make(node, self.clock, seed=self.random.randrange(1 << 30), bootstrap=self.bootstrap, static={})

    def _empty_controls(self) -> Controls:
        return Controls(ControlSettings(CLUSTER_ID, QuorumFeatures(0)), Random(0))

    def elect(self, node: int) -> None:
        """The log keeps what is committed and some beginning of the rest; the leader's own record follows."""
        keep = self.random.randint(self.committed_batches, len(self.log))
        lost = self.log[keep:]
        del self.log[keep:]
        if self.active is not None:
            previous = self.active
            self.epoch += 1
            self.controllers[previous].leader_changed(LeaderAndEpoch(None, self.epoch), 0)
            self.deliver(previous)
            self.active = None
            self.waiting.clear()
            self.run.failovers += 1
        if lost:
            self._rebuild_checker()
        self.epoch += 1
        self.log.append(MetadataBatch(self.end_offset, self.end_offset, self.epoch, 0, 50, ()))
        self.committed_batches = len(self.log)
        self.deliver(node)
        self.active = node
        leader = LeaderAndEpoch(node, self.epoch)
        for other in NODES:
            if other != node:
                self.controllers[other].leader_changed(leader, 0)
        self.append(self.controllers[node].leader_changed(leader, self.end_offset))

    def _rebuild_checker(self) -> None:
        self.checker = RecordChecker(self._empty_controls())
        for batch in self.log:
            for index, record in enumerate(batch.records):
                self.checker.controls.replay(record.message, batch.base_offset + index)

    @property
    def controller(self) -> QuorumController:
        assert self.active is not None
        return self.controllers[self.active]

    def ask(
        self, request: Message, done: Callable[[Any], None] = lambda _: None, proposed_isr: Sequence[int] = ()
    ) -> None:
        submission = self.controller.handle(request, created_ms=self.clock.now_ms)
        self.run.operations += 1
        self.waiting[submission.id] = done
        self.append(submission.appends, proposed_isr)
        assert self.active is not None
        self.deliver(self.active)

    # Steps

    def step_broker_starts(self) -> None:
        broker = self.random.choice(self.brokers)
        if broker.alive:
            return
        broker.alive, broker.stopping, broker.incarnation = True, False, broker.incarnation + 1
        previous = broker.epoch if self.random.random() < 0.5 else -1

        def done(response: Any) -> None:
            broker.epoch = response.broker_epoch

        rack = f"r{broker.id % 3}" if self.run.seed % 2 else None
        self.ask(
            registration(broker.id, incarnation=broker.incarnation, rack=rack, previous_broker_epoch=previous), done
        )

    def step_heartbeats(self) -> None:
        self.clock.now_ms += self.random.randrange(2_500)
        for broker in self.brokers:
            if not broker.alive or self.random.random() < 0.1:
                continue
            offset = self.end_offset - (self.random.random() < 0.8)
            offline = self.random.random() < 0.01
            request = BrokerHeartbeatRequest(
                broker_id=broker.id,
                broker_epoch=broker.epoch,
                current_metadata_offset=offset,
                want_fence=self.random.random() < 0.03,
                want_shut_down=broker.stopping,
                offline_log_dirs=registration(broker.id).log_dirs if offline else [],
            )

            def done(response: Any, broker: SimBroker = broker) -> None:
                if response.should_shut_down:
                    broker.alive = False

            self.ask(request, done)

    def step_broker_dies(self) -> None:
        broker = self.random.choice(self.brokers)
        if broker.alive and self.random.random() < 0.5:
            broker.alive = False
            if self.random.random() < 0.5:
                self.controller.connection_lost(broker.id, broker.epoch)

    def step_broker_stops(self) -> None:
        self.random.choice(self.brokers).stopping = True

    def step_time_passes(self) -> None:
        self.clock.now_ms += self.random.choice((100, 1_000, 4_000, 10_000, 400_000))
        before = len(self.controller.controls.cluster.unfenced_ids())
        self.append(self.controller.tick(self.clock.now_ms))
        self.run.fenced += before - len(self.controller.controls.cluster.unfenced_ids())

    def step_create_topic(self) -> None:
        name = f"topic{self.random.choice('._-x')}{self.random.randrange(12)}"
        configs = {}
        if self.random.random() < 0.3:
            configs["unclean.leader.election.enable"] = self.random.choice(("true", "false"))
        if self.random.random() < 0.3:
            configs["min.insync.replicas"] = str(self.random.randint(1, 3))
        partitions, replicas = self.random.choice((-1, 1, 2, 3)), self.random.choice((-1, 1, 2, 3, 3, 9))

        def done(response: Any) -> None:
            if response.topics[0].error_code == 0:
                self.created[name] = response.topics[0].topic_id

        self.ask(
            CreateTopicsRequest(
                topics=[topic(name, num_partitions=partitions, replication_factor=replicas, configs=configs)]
            ),
            done,
        )

    def _topic(self) -> Any:
        topics = self.controller.controls.registry.topics
        return self.random.choice(list(topics.values())) if topics else None

    def step_delete_topic(self) -> None:
        found = self._topic()
        if found is not None and self.random.random() < 0.5:
            self.maybe_deleted[found.id] = None
            self.ask(DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=found.id)]))

    def step_add_partitions(self) -> None:
        found = self._topic()
        if found is not None and len(found.partitions) < 6:
            count = len(found.partitions) + self.random.choice((0, 1, 2))
            self.ask(CreatePartitionsRequest(topics=[CreatePartitionsTopic(name=found.name, count=count)]))

    def step_isr(self) -> None:
        for _ in range(4):
            self._alter_isr()

    def _alter_isr(self) -> None:
        found = self._topic()
        if found is None:
            return
        number = self.random.choice(list(found.partitions))
        partition = found.partitions[number]
        if partition.leader < 0 or not self.brokers[partition.leader].alive:
            return
        brokers = self.controller.controls.cluster.brokers
        isr = [r for r in partition.replicas if r == partition.leader or self.random.random() < 0.7]
        states = [BrokerState(broker_id=r, broker_epoch=brokers[r].epoch if r in brokers else -1) for r in isr]
        stale = self.random.random() < 0.1
        request = AlterPartitionRequest(
            broker_id=partition.leader,
            broker_epoch=brokers[partition.leader].epoch,
            topics=[
                TopicData(
                    topic_id=found.id,
                    partitions=[
                        PartitionData(
                            partition_index=number,
                            leader_epoch=partition.leader_epoch - stale,
                            new_isr_with_epochs=states,
                            leader_recovery_state=0,
                            partition_epoch=partition.partition_epoch,
                        )
                    ],
                )
            ],
        )
        self.ask(request, proposed_isr=isr)

    def step_elect(self) -> None:
        self.ask(ElectLeadersRequest(election_type=0, topic_partitions=None))

    def step_reassign(self) -> None:
        found = self._topic()
        if found is None:
            return
        number = self.random.choice(list(found.partitions))
        target = self.random.sample(range(BROKERS), self.random.randint(1, 4)) if self.random.random() < 0.7 else None
        partitions = [ReassignablePartition(partition_index=number, replicas=target)]
        self.ask(AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name=found.name, partitions=partitions)]))

    def step_configs(self) -> None:
        found = self._topic()
        kind, name = (2, found.name) if found is not None and self.random.random() < 0.8 else (4, "")
        key, value = self.random.choice(
            (
                ("unclean.leader.election.enable", "true"),
                ("unclean.leader.election.enable", "false"),
                ("min.insync.replicas", str(self.random.randint(1, 3))),
                ("retention.ms", "77"),
                ("no.such.config", "1"),
            )
        )
        op = self.random.choice((0, 0, 0, 1))
        config = AlterableConfig(name=key, config_operation=op, value=value)
        resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=[config])
        self.ask(IncrementalAlterConfigsRequest(resources=[resource]))

    def step_small_things(self) -> None:
        entity = [EntityData(entity_type="user", entity_name=self.random.choice((None, "u")))]
        op = OpData(key="producer_byte_rate", value=self.random.randint(1, 9), remove=self.random.random() < 0.3)
        self.ask(AlterClientQuotasRequest(entries=[EntryData(entity=entity, ops=[op])]))
        update = FeatureUpdateKey(
            feature=self.random.choice(("group.version", "share.version", "eligible.leader.replicas.version")),
            max_version_level=self.random.choice((0, 1)),
            upgrade_type=self.random.choice((1, 2)),
        )
        self.ask(UpdateFeaturesRequest(feature_updates=[update]))

    def step_producer_ids(self) -> None:
        broker = self.random.choice(self.brokers)

        def done(response: Any) -> None:
            ensure(response.producer_id_start not in self.blocks, "a block of producer ids was given twice")
            self.blocks[response.producer_id_start] = None

        self.ask(AllocateProducerIdsRequest(broker_id=broker.id, broker_epoch=broker.epoch), done)

    def step_unregister(self) -> None:
        broker = self.random.choice(self.brokers)
        if not broker.alive and self.random.random() < 0.3:
            self.ask(UnregisterBrokerRequest(broker_id=broker.id))

    def step_commit(self) -> None:
        self.commit()

    def step_failover(self) -> None:
        if self.random.random() < 0.6:
            self.elect(self.random.choice(NODES))

    def step_restart_standby(self) -> None:
        """A standby begins anew: from a snapshot of another's image, or from the beginning of the log."""
        node = self.random.choice([node for node in NODES if node != self.active])
        source = self.random.choice([other for other in NODES if other != node])
        image = self.controllers[source].loader.image
        has_open_transaction = bool(self.controllers[source].loader.open_transaction)
        self.controllers[node] = self._new_controller(node)
        self.delivered[node] = 0
        if not image.is_empty and not has_open_transaction and self.random.random() < 0.7:
            self.controllers[node].load_snapshot(image.provenance, list(image.records()), None)
            self.delivered[node] = self.delivered[source]
        self.deliver(node)

    STEPS = (
        step_broker_starts, step_broker_starts, step_heartbeats, step_heartbeats, step_heartbeats, step_heartbeats,
        step_broker_dies, step_broker_stops, step_time_passes, step_create_topic, step_create_topic,
        step_create_topic, step_delete_topic, step_add_partitions, step_isr, step_isr, step_elect, step_reassign,
        step_reassign, step_configs, step_configs, step_small_things, step_producer_ids, step_unregister, step_commit,
        step_commit, step_commit, step_failover, step_restart_standby,
    )  # fmt: skip

    # What must hold of states

    def check_everything(self) -> None:
        end = self.controller.next_write_offset
        ensure(end == self.end_offset, "the active controller's next offset is not the end of the log")
        ensure(
            self.controller.controls.durable_state() == self._replayed(len(self.log)).durable_state(),
            "the live state is not the replay of the log",
        )
        ensure(
            self.controller.controls.durable_state() == self.checker.controls.durable_state(),
            "the live state is not that of a reader of the log",
        )
        for node in NODES:
            self._check_image(node)
            if node != self.active:
                self._check_standby(node)

    def _check_standby(self, node: int) -> None:
        expected = self._replayed(self.delivered[node]).durable_state()
        ensure(self.controllers[node].controls.durable_state() == expected, "a standby is not the replay of its log")

    def _check_image(self, node: int) -> None:
        loader: MetadataLoader = self.controllers[node].loader
        delta = MetadataDelta(EMPTY)
        for batch in self.log[: self.delivered[node]]:
            for message, _ in batch.records:
                if message.API_KEY not in (23, 24, 25):
                    delta.replay(message)
        if loader.open_transaction:
            return
        ensure(
            loader.image.same_content(delta.apply(MetadataProvenance())), "image and deltas are not the full rebuild"
        )
        settings = ControlSettings(CLUSTER_ID, QuorumFeatures(0))
        rebuilt = Controls.from_image(settings, Random(0), loader.image)
        expected = self._replayed(self.delivered[node])
        ensure(rebuilt.durable_state() == expected.durable_state(), "the image is not what the controller holds")

    def _replayed(self, batches: int) -> Controls:
        controls = self._empty_controls()
        for batch in self.log[:batches]:
            for index, record in enumerate(batch.records):
                controls.replay(record.message, batch.base_offset + index)
        return controls

    def settle(self) -> None:
        self.commit(most=1)
        self.check_everything()
        states = [self.controllers[node].controls.durable_state() for node in NODES]
        ensure(states[0] == states[1] == states[2], "controllers that read the same log differ")
        topics = self.controller.controls.registry.topics
        for name, topic_id in self.created.items():
            known = topic_id in topics or topic_id in self.maybe_deleted
            ensure(known, f"the topic {name} was acknowledged and is lost")


def reproduce(seed: int) -> str:
    return f"PYTHONPATH=src:tests python -m helpers.controller_sim {seed} 1"


def simulate(seed: int, make: Callable[..., QuorumController] = make_controller) -> Run:
    return Simulation(Run(seed), make).execute()


if __name__ == "__main__":
    first, count = int(sys.argv[1]), int(sys.argv[2])
    for each in range(first, first + count):
        print(each, simulate(each).digest)
