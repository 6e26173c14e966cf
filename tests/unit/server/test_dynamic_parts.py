"""Parts of a node that follow its settings while it runs."""

import pytest

from odradek.common.ids import TopicPartition
from odradek.metadata.image.directory_id import UNASSIGNED
from odradek.network.creation_rate import CreationRate
from odradek.network.limits import ConnectionQuotas
from odradek.protocol.config_types import ConfigResourceType
from odradek.protocol.error_codes import ErrorCode
from odradek.server.broker.log_config_publisher import LogConfigs, follow_settings
from odradek.server.config.network_settings import follow_connection_limits
from support.builders.dynamic import ALL, OWN, World
from support.builders.replica import TOPIC, TP, Broker, Cluster, partition_record


@pytest.fixture
def broker() -> Broker:
    cluster = Cluster()
    cluster.create_topic()
    return cluster.brokers[0]


@pytest.fixture
def world(broker: Broker) -> World:
    world = World()
    world.publishers.append(LogConfigs(broker.replicas.logs, world.dynamic))
    follow_settings(world.dynamic, broker.replicas)
    return world


def test_defaults_of_topics_hold_at_once(broker: Broker, world: World) -> None:
    world.set(ALL, "message.max.bytes", "60")
    assert broker.produce("a record of more than that", acks=1)[0][0].error_code == ErrorCode.MESSAGE_TOO_LARGE
    world.set(OWN, "message.max.bytes", "1000")
    world.set(OWN, "log.retention.ms", "7")
    assert broker.produce("a record of more than that", acks=1)[0][0].error_code == 0
    assert broker.log.config.value.retention_ms == 7
    world.set(TOPIC, "retention.ms", "8", ConfigResourceType.TOPIC)
    assert (broker.log.config.value.retention_ms, broker.log.config.value.max_message_bytes) == (8, 1000)
    world.set(OWN, "message.max.bytes", None)
    assert (broker.log.config.value.retention_ms, broker.log.config.value.max_message_bytes) == (8, 60)


def test_what_was_set_before_the_start_holds(broker: Broker) -> None:
    world = World()
    world.set(ALL, "log.segment.bytes", "2000000")
    world.publish(world.last_delta, LogConfigs(broker.replicas.logs, world.dynamic))
    assert broker.log.config.value.segment_bytes == 2_000_000


def test_settings_that_do_not_go_together_are_left_alone(broker: Broker, world: World) -> None:
    world.set(TOPIC, "min.compaction.lag.ms", "500", ConfigResourceType.TOPIC)
    world.set(ALL, "log.cleaner.max.compaction.lag.ms", "100")
    assert broker.log.config.value.max_compaction_lag_ms > 500


def test_the_cleaner_and_the_memory_of_producers(broker: Broker, world: World) -> None:
    logs = broker.replicas.logs
    world.set(OWN, "log.cleaner.threads", "2")
    world.set(OWN, "log.cleaner.io.max.bytes.per.second", "1e6")
    assert (logs.cleaner.config.threads, logs.cleaner.throttle.bytes_per_second) == (2, 1e6)
    world.set(OWN, "producer.id.expiration.ms", "9")
    world.set(ALL, "transaction.partition.verification.enable", "false")
    producers = logs.current[TP].producers
    assert (producers.expiration_ms, producers.verification_enabled) == (9, False)
    assert logs.settings.producer_id_expiration_ms == 9, "also for logs that are made later"


def test_nothing_new_is_made_in_a_cordoned_directory() -> None:
    cluster, world = Cluster(dirs=2), World(log_dirs="/data0,/data1")
    manager = cluster.brokers[0].replicas
    follow_settings(world.dynamic, manager)
    world.set(OWN, "cordoned.log.dirs", "/data0")
    cluster.create_topic()
    cluster.replay(*(partition_record([0], number=number, directories=[UNASSIGNED]) for number in range(1, 4)))
    assert {log.log_dir for tp, log in manager.logs.current.items() if tp.partition} == {"/data1"}
    moved = TopicPartition(TOPIC, 1)
    assert manager.log_dir_moves.start(moved, "/data0") == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert {info.path: info.is_cordoned for info in manager.description.log_dirs()} == {"/data0": True, "/data1": False}
    world.set(OWN, "cordoned.log.dirs", "*")
    cluster.replay(partition_record([0], number=4, directories=[UNASSIGNED]))
    assert TopicPartition(TOPIC, 4) in manager.logs.current, "where there is no choice, there is none"
    world.set(OWN, "cordoned.log.dirs", None)
    assert manager.log_dir_moves.start(moved, "/data0") == 0


def test_rates(broker: Broker, world: World) -> None:
    manager = broker.replicas
    quotas = (manager.leader_quota, manager.follower_quota, manager.log_dir_moves.quota)
    assert [quota.rate_bytes for quota in quotas] == [None] * 3
    world.set(OWN, "leader.replication.throttled.rate", "1")
    world.set(ALL, "follower.replication.throttled.rate", "2")
    world.set(OWN, "replica.alter.log.dirs.io.max.bytes.per.second", "3")
    assert [quota.rate_bytes for quota in quotas] == [1, 2, 3]
    world.set(OWN, "leader.replication.throttled.rate", None)
    assert manager.leader_quota.rate_bytes is None


def test_limits_of_connections() -> None:
    world, quotas, rate = World(max_connections="5"), ConnectionQuotas(), CreationRate()
    follow_connection_limits(world.dynamic, quotas, rate)
    assert quotas.connections_max == 5
    world.set(ALL, "max.connections", "1")
    quotas.opened("10.0.0.1")
    assert "max.connections allows" in quotas.refusal("10.0.0.2")
    world.set(ALL, "max.connections", "9")
    world.set(OWN, "max.connections.per.ip", "1")
    world.set(OWN, "max.connections.per.ip.overrides", "10.0.0.1:2")
    assert not quotas.refusal("10.0.0.1")
    quotas.opened("10.0.0.1")
    assert "max.connections.per.ip allows" in quotas.refusal("10.0.0.1")
    world.set(ALL, "max.connection.creation.rate", "2")
    assert [rate.taken(100.0) for _ in range(4)] == [0.0, 0.0, 0.5, 1.0]
    assert rate.taken(101.0) == 0.5 and rate.taken(110.0) == 0.0
