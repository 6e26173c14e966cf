"""Copies of replicas that are not in sync go no faster than the broker's rate allows."""

import pytest

from helpers.replica import TOPIC, TP, Cluster, change_record
from odradek.protocol.messages.config_record import ConfigRecord
from odradek.replica.throttle import ReplicationThrottle


def setting(name: str, value: str) -> ConfigRecord:
    return ConfigRecord(resource_type=2, resource_name=TOPIC, name=name, value=value)


@pytest.mark.parametrize(
    ("setting", "is_throttled"),
    [((), False), (("*",), True), (("0:3",), True), (("1:3", "0:4"), False)],
)
def test_whom_it_concerns(setting: tuple[str, ...], is_throttled: bool) -> None:
    throttle = ReplicationThrottle(3)
    assert not throttle.is_throttled(TP, setting), "there is no rate"
    throttle.rate_bytes = 1
    assert throttle.is_throttled(TP, setting) is is_throttled


def test_the_rate_is_measured_over_the_last_seconds() -> None:
    throttle = ReplicationThrottle(3)
    throttle.rate_bytes = 100
    throttle.record(1_000, 50_000)
    assert not throttle.is_exceeded(50_000)
    throttle.record(1, 50_000)
    assert throttle.is_exceeded(50_000)
    assert throttle.is_exceeded(51_000)
    assert not throttle.is_exceeded(51_010)
    throttle.record(5_000, 52_000)
    assert throttle.is_exceeded(60_000)
    assert not throttle.is_exceeded(63_000)


def test_a_leader_holds_back_who_is_not_in_sync() -> None:
    cluster = Cluster(size=3)
    cluster.replay(setting("leader.replication.throttled.replicas", "0:0"))
    cluster.create_topic(isr=[0, 1])
    leader = cluster.brokers[0]
    leader.manager.leader_throttle.rate_bytes = 1
    for _ in range(2):
        leader.produce("x" * 100, acks=1)
        cluster.replicate(2)
    assert [broker.log.log_end_offset for broker in cluster.brokers] == [2, 2, 0], "what the others got counts too"
    cluster.clock.now_ms += 400_000
    cluster.replicate(2)
    assert cluster.brokers[2].log.log_end_offset == 2


def test_a_follower_that_is_held_back_pauses() -> None:
    cluster = Cluster(size=2)
    cluster.replay(setting("follower.replication.throttled.replicas", "*"))
    cluster.create_topic(isr=[0])
    follower = cluster.brokers[1].manager
    follower.follower_throttle.rate_bytes = 1
    cluster.brokers[0].produce("x" * 100, acks=1)
    cluster.replicate(1)
    cluster.brokers[0].produce("y", acks=1)
    cluster.replay(change_record(leader=0))
    [fetcher] = follower.fetchers.by_source.values()
    now_ms = cluster.clock.monotonic_ms()
    cluster.replicate(2)
    assert cluster.brokers[1].log.log_end_offset == 1 and fetcher.deadline_ms == now_ms + 1_000
    cluster.clock.now_ms += 400_000
    cluster.replicate(2)
    assert cluster.brokers[1].log.log_end_offset == 2
