"""KIP-966, eligible leader replicas: who may lead when the ISR is small, empty or gone."""

from typing import Any

import pytest

from odradek.metadata.image.partition_registration import PartitionRegistration
from odradek.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from support.builders.controller import Bench, bootstrap_records, registration


def three_brokers(min_isr: int = 2, **options: Any) -> tuple[Bench, bytes]:
    bench = Bench(options=options)
    for broker_id in range(3):
        bench.add_broker(broker_id)
    return bench, bench.create("a", [[0, 1, 2]], configs={"min.insync.replicas": str(min_isr)})


def roles(partition: PartitionRegistration) -> dict[str, Any]:
    return {"leader": partition.leader, "isr": partition.isr, "elr": partition.elr, "last": partition.last_known_elr}


def fence(bench: Bench, broker_id: int) -> None:
    bench.ask(bench.beat(broker_id, want_fence=True))


def test_the_last_replica_standing() -> None:
    """\"MinISR-1 tolerance to data loss unclean shutdown events\": the KIP's own scenario, T0 to T3."""
    bench, topic_id = three_brokers()
    fence(bench, 0)
    assert roles(bench.partition(topic_id)) == {"leader": 1, "isr": (1, 2), "elr": (), "last": ()}
    fence(bench, 1)
    assert roles(bench.partition(topic_id)) == {"leader": 2, "isr": (2,), "elr": (1,), "last": ()}
    fence(bench, 2)
    assert roles(bench.partition(topic_id)) == {"leader": -1, "isr": (), "elr": (1, 2), "last": (2,)}
    # Broker 2 comes back from an unclean shutdown: it is not trusted, broker 1 is.
    bench.tick(10_000)
    bench.ask(registration(2, incarnation=2, previous_broker_epoch=-1))
    assert roles(bench.partition(topic_id))["elr"] == (1,)
    bench.ask(bench.beat(2))
    assert bench.partition(topic_id).leader == -1, "only an eligible replica may lead"
    bench.ask(bench.beat(1))
    assert roles(bench.partition(topic_id)) == {"leader": 1, "isr": (1,), "elr": (), "last": ()}
    assert bench.partition(topic_id).leader_recovery_state == 0


def test_a_replica_that_stopped_cleanly_stays_eligible() -> None:
    bench, topic_id = three_brokers()
    for broker_id in (0, 1, 2):
        fence(bench, broker_id)
    epoch = bench.controller.controls.cluster.brokers[2].epoch
    bench.tick(10_000)
    bench.ask(registration(2, incarnation=2, previous_broker_epoch=epoch))
    bench.ask(bench.beat(2))
    assert roles(bench.partition(topic_id)) == {"leader": 2, "isr": (2,), "elr": (1,), "last": ()}


def test_an_isr_of_enough_replicas_clears_the_eligible_ones() -> None:
    bench, topic_id = three_brokers()
    fence(bench, 0)
    fence(bench, 1)
    assert bench.partition(topic_id).elr == (1,)
    bench.ask(bench.beat(0))
    bench.ask(bench.isr(topic_id, 0, [2, 0]))
    assert roles(bench.partition(topic_id)) == {"leader": 2, "isr": (2, 0), "elr": (), "last": ()}


def test_the_last_known_leader_is_taken_when_nobody_is_eligible() -> None:
    """\"Select the last known leader if it is unfenced.\""""
    bench, topic_id = three_brokers(min_isr=1)
    for broker_id in (0, 1):
        fence(bench, broker_id)
    fence(bench, 2)
    assert roles(bench.partition(topic_id)) == {"leader": -1, "isr": (), "elr": (2,), "last": (2,)}
    bench.tick(10_000)
    bench.ask(registration(2, incarnation=2))
    assert roles(bench.partition(topic_id)) == {"leader": -1, "isr": (), "elr": (), "last": (2,)}
    bench.ask(bench.beat(1))
    assert bench.partition(topic_id).leader == -1
    bench.ask(bench.beat(2))
    partition = bench.partition(topic_id)
    assert roles(partition) == {"leader": 2, "isr": (2,), "elr": (), "last": ()}
    assert partition.leader_recovery_state == 1, "it may have lost data and must say when it has looked"


def test_an_unclean_leader_only_where_it_is_allowed() -> None:
    bench, topic_id = three_brokers()
    for broker_id in (1, 2, 0):
        fence(bench, broker_id)
    assert bench.partition(topic_id).elr == (0, 2)
    bench.ask(bench.beat(1))
    assert bench.partition(topic_id).leader == -1
    assert bench.set_config(2, "a", "unclean.leader.election.enable", "true")[0] == 0
    bench.clock.now_ms += 300_000
    bench.ask(bench.beat(1))
    bench.tick()
    partition = bench.partition(topic_id)
    assert roles(partition) == {"leader": 1, "isr": (1,), "elr": (), "last": ()}
    assert partition.leader_recovery_state == 1


@pytest.mark.parametrize("kind", [0, 1])
def test_an_operator_may_ask_for_an_unclean_leader(kind: int) -> None:
    bench, topic_id = three_brokers()
    for broker_id in (1, 2, 0):
        fence(bench, broker_id)
    bench.ask(bench.beat(1))
    asked = ElectLeadersRequest(election_type=kind, topic_partitions=[TopicPartitions(topic="a", partitions=[0])])
    bench.ask(asked)
    assert bench.partition(topic_id).leader == (1 if kind == 1 else -1)


def test_without_the_feature_the_last_of_the_isr_stays_in_it() -> None:
    bench, topic_id = three_brokers(bootstrap=bootstrap_records(eligible_leader_replicas_version=0))
    for broker_id in (0, 1, 2):
        fence(bench, broker_id)
    assert roles(bench.partition(topic_id)) == {"leader": -1, "isr": (2,), "elr": (), "last": ()}
    bench.ask(bench.beat(1))
    assert bench.partition(topic_id).leader == -1
    bench.ask(bench.beat(2))
    assert roles(bench.partition(topic_id)) == {"leader": 2, "isr": (2,), "elr": (), "last": ()}


def test_a_new_min_insync_replicas_clears_the_eligible_ones() -> None:
    """\"If the cluster-level min.insync.replicas is updated, even if the value is unchanged, all the ELR state will be
    cleaned.\" and the same for a topic whose own is changed."""
    for kind, resource, value in ((2, "a", "3"), (4, "", "1")):
        bench, topic_id = three_brokers()
        fence(bench, 0)
        fence(bench, 1)
        assert bench.partition(topic_id).elr == (1,)
        assert bench.set_config(kind, resource, "min.insync.replicas", value)[0] == 0
        assert bench.partition(topic_id).elr == ()
        assert bench.controller.loader.image.topics.by_id[topic_id].partitions[0] == bench.partition(topic_id)


def test_what_may_not_be_set_while_the_feature_is_on() -> None:
    bench, _ = three_brokers()
    assert "cannot be altered while ELR" in bench.set_config(4, "1", "min.insync.replicas", "1")[1]
    assert "cannot be removed while ELR" in bench.set_config(4, "", "min.insync.replicas", None, op=1)[1]
