"""Random operations of clients and brokers on simulated controllers."""

from dataclasses import dataclass
from random import Random
from typing import Any

from odradek.controller.topic_registry import TopicState
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
from odradek.sim.controller.cluster import NODES, ControllerCluster
from odradek.sim.controller.setup import registration, topic
from odradek.sim.world.results import ensure

BROKERS = 5


@dataclass(slots=True)
class RequestingBroker:
    """Broker as a source of requests."""

    id: int
    incarnation: int = 1
    epoch: int = -1
    alive: bool = False
    stopping: bool = False


class RandomOperations:
    """Each call of `run_next` does one operation. It remembers what the controllers have acknowledged."""

    def __init__(self, cluster: ControllerCluster, random: Random, *, uses_racks: bool) -> None:
        self._cluster = cluster
        self._random = random
        self._uses_racks = uses_racks
        self.brokers = [RequestingBroker(broker_id) for broker_id in range(BROKERS)]
        #: Ids of acknowledged topics.
        self.created: dict[str, bytes] = {}
        #: Topics whose deletion was requested.
        self.maybe_deleted: dict[bytes, None] = {}
        self.blocks: dict[int, None] = {}
        self.fenced = 0
        self._operations = (
            *(self._start_broker,) * 2,
            *(self._send_heartbeats,) * 4,
            *(self._kill_broker,),
            *(self._stop_broker,),
            *(self._advance_time,),
            *(self._create_topic,) * 3,
            *(self._delete_topic,),
            *(self._add_partitions,),
            *(self._alter_isrs,) * 2,
            *(self._elect_leaders,),
            *(self._reassign_partition,) * 2,
            *(self._alter_configs,) * 2,
            *(self._alter_quotas_and_features,),
            *(self._allocate_producer_ids,),
            *(self._unregister_broker,),
            *(self._commit,) * 3,
            *(self._fail_over,),
            *(self._cluster.restart_standby,),
        )

    def run_next(self) -> None:
        self._random.choice(self._operations)()

    def _start_broker(self) -> None:
        broker = self._random.choice(self.brokers)
        if broker.alive:
            return
        broker.alive, broker.stopping, broker.incarnation = True, False, broker.incarnation + 1
        previous = broker.epoch if self._random.random() < 0.5 else -1

        def on_response(response: Any) -> None:
            broker.epoch = response.broker_epoch

        rack = f"r{broker.id % 3}" if self._uses_racks else None
        self._cluster.request(
            registration(broker.id, incarnation=broker.incarnation, rack=rack, previous_broker_epoch=previous),
            on_response,
        )

    def _send_heartbeats(self) -> None:
        self._cluster.clock.advance(self._random.randrange(2_500))
        for broker in self.brokers:
            if not broker.alive or self._random.random() < 0.1:
                continue
            offset = self._cluster.end_offset - (self._random.random() < 0.8)
            offline = self._random.random() < 0.01
            request = BrokerHeartbeatRequest(
                broker_id=broker.id,
                broker_epoch=broker.epoch,
                current_metadata_offset=offset,
                want_fence=self._random.random() < 0.03,
                want_shut_down=broker.stopping,
                offline_log_dirs=registration(broker.id).log_dirs if offline else [],
            )

            def on_response(response: Any, broker: RequestingBroker = broker) -> None:
                if response.should_shut_down:
                    broker.alive = False

            self._cluster.request(request, on_response)

    def _kill_broker(self) -> None:
        broker = self._random.choice(self.brokers)
        if broker.alive and self._random.random() < 0.5:
            broker.alive = False
            if self._random.random() < 0.5:
                self._cluster.controller.connection_lost(broker.id, broker.epoch)

    def _stop_broker(self) -> None:
        self._random.choice(self.brokers).stopping = True

    def _advance_time(self) -> None:
        self._cluster.clock.advance(self._random.choice((100, 1_000, 4_000, 10_000, 400_000)))
        unfenced = len(self._cluster.controller.controls.cluster.unfenced_ids())
        self._cluster.append(self._cluster.controller.tick(self._cluster.clock.now_ms))
        self.fenced += unfenced - len(self._cluster.controller.controls.cluster.unfenced_ids())

    def _create_topic(self) -> None:
        name = f"topic{self._random.choice('._-x')}{self._random.randrange(12)}"
        configs = {}
        if self._random.random() < 0.3:
            configs["unclean.leader.election.enable"] = self._random.choice(("true", "false"))
        if self._random.random() < 0.3:
            configs["min.insync.replicas"] = str(self._random.randint(1, 3))
        partitions, replicas = self._random.choice((-1, 1, 2, 3)), self._random.choice((-1, 1, 2, 3, 3, 9))

        def on_response(response: Any) -> None:
            if response.topics[0].error_code == 0:
                self.created[name] = response.topics[0].topic_id

        self._cluster.request(
            CreateTopicsRequest(
                topics=[topic(name, num_partitions=partitions, replication_factor=replicas, configs=configs)]
            ),
            on_response,
        )

    def _random_topic(self) -> TopicState | None:
        topics = self._cluster.controller.controls.registry.topics
        return self._random.choice(list(topics.values())) if topics else None

    def _delete_topic(self) -> None:
        topic_state = self._random_topic()
        if topic_state is not None and self._random.random() < 0.5:
            self.maybe_deleted[topic_state.id] = None
            self._cluster.request(DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=topic_state.id)]))

    def _add_partitions(self) -> None:
        topic_state = self._random_topic()
        if topic_state is not None and len(topic_state.partitions) < 6:
            count = len(topic_state.partitions) + self._random.choice((0, 1, 2))
            self._cluster.request(
                CreatePartitionsRequest(topics=[CreatePartitionsTopic(name=topic_state.name, count=count)])
            )

    def _alter_isrs(self) -> None:
        for _ in range(4):
            self._alter_isr()

    def _alter_isr(self) -> None:
        topic_state = self._random_topic()
        if topic_state is None:
            return
        index = self._random.choice(list(topic_state.partitions))
        partition = topic_state.partitions[index]
        if partition.leader < 0 or not self.brokers[partition.leader].alive:
            return
        brokers = self._cluster.controller.controls.cluster.brokers
        isr = [r for r in partition.replicas if r == partition.leader or self._random.random() < 0.7]
        states = [BrokerState(broker_id=r, broker_epoch=brokers[r].epoch if r in brokers else -1) for r in isr]
        stale = self._random.random() < 0.1
        request = AlterPartitionRequest(
            broker_id=partition.leader,
            broker_epoch=brokers[partition.leader].epoch,
            topics=[
                TopicData(
                    topic_id=topic_state.id,
                    partitions=[
                        PartitionData(
                            partition_index=index,
                            leader_epoch=partition.leader_epoch - stale,
                            new_isr_with_epochs=states,
                            leader_recovery_state=0,
                            partition_epoch=partition.partition_epoch,
                        )
                    ],
                )
            ],
        )
        self._cluster.request(request, proposed_isr=isr)

    def _elect_leaders(self) -> None:
        self._cluster.request(ElectLeadersRequest(election_type=0, topic_partitions=None))

    def _reassign_partition(self) -> None:
        topic_state = self._random_topic()
        if topic_state is None:
            return
        index = self._random.choice(list(topic_state.partitions))
        target = (
            self._random.sample(range(BROKERS), self._random.randint(1, 4)) if self._random.random() < 0.7 else None
        )
        partitions = [ReassignablePartition(partition_index=index, replicas=target)]
        self._cluster.request(
            AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name=topic_state.name, partitions=partitions)])
        )

    def _alter_configs(self) -> None:
        topic_state = self._random_topic()
        resource_type, name = (
            (2, topic_state.name) if topic_state is not None and self._random.random() < 0.8 else (4, "")
        )
        key, value = self._random.choice(
            (
                ("unclean.leader.election.enable", "true"),
                ("unclean.leader.election.enable", "false"),
                ("min.insync.replicas", str(self._random.randint(1, 3))),
                ("retention.ms", "77"),
                ("no.such.config", "1"),
            )
        )
        op = self._random.choice((0, 0, 0, 1))
        config = AlterableConfig(name=key, config_operation=op, value=value)
        resource = AlterConfigsResource(resource_type=resource_type, resource_name=name, configs=[config])
        self._cluster.request(IncrementalAlterConfigsRequest(resources=[resource]))

    def _alter_quotas_and_features(self) -> None:
        entity = [EntityData(entity_type="user", entity_name=self._random.choice((None, "u")))]
        op = OpData(key="producer_byte_rate", value=self._random.randint(1, 9), remove=self._random.random() < 0.3)
        self._cluster.request(AlterClientQuotasRequest(entries=[EntryData(entity=entity, ops=[op])]))
        update = FeatureUpdateKey(
            feature=self._random.choice(("group.version", "share.version", "eligible.leader.replicas.version")),
            max_version_level=self._random.choice((0, 1)),
            upgrade_type=self._random.choice((1, 2)),
        )
        self._cluster.request(UpdateFeaturesRequest(feature_updates=[update]))

    def _allocate_producer_ids(self) -> None:
        broker = self._random.choice(self.brokers)

        def on_response(response: Any) -> None:
            ensure(response.producer_id_start not in self.blocks, "a block of producer ids was allocated twice")
            self.blocks[response.producer_id_start] = None

        self._cluster.request(AllocateProducerIdsRequest(broker_id=broker.id, broker_epoch=broker.epoch), on_response)

    def _unregister_broker(self) -> None:
        broker = self._random.choice(self.brokers)
        if not broker.alive and self._random.random() < 0.3:
            self._cluster.request(UnregisterBrokerRequest(broker_id=broker.id))

    def _commit(self) -> None:
        self._cluster.commit()

    def _fail_over(self) -> None:
        if self._random.random() < 0.6:
            self._cluster.elect(self._random.choice(NODES))
