"""A leader that no controller answers takes records only while its in-sync followers fetch; a fenced one takes none."""

import logging

import pytest

from odradek.log.offsets import AppendOrigin
from odradek.protocol.error_codes import ErrorCode
from odradek.replica.requests import ProduceEntry
from support.builders.logs import batch
from support.builders.replica import TOPIC_ID, TP, Broker, Cluster

SESSION_MS = 9_000
ACCEPTED, REFUSED = ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER


def leader_of(cluster: Cluster) -> Broker:
    leader = cluster.brokers[0]
    cluster.replicate()
    leader.replicas.contact.heartbeat_acknowledged(cluster.clock.monotonic_ms(), is_fenced=False)
    return leader


def produce(leader: Broker, acks: int) -> ErrorCode | None:
    """None: it waits for followers."""
    results = leader.produce("x", acks=acks)
    return ErrorCode(results[0][0].error_code) if results else None


def test_the_lease_of_a_heartbeat_lasts_for_the_session_time() -> None:
    cluster = Cluster(size=3)
    cluster.create_topic()
    leader = leader_of(cluster)
    cluster.clock.now_ms += SESSION_MS - 1
    assert produce(leader, acks=1) == ACCEPTED
    end_offset = leader.log.offsets.log_end_offset
    cluster.clock.now_ms += 2
    assert [produce(leader, acks) for acks in (0, 1, -1)] == [REFUSED] * 3
    assert leader.replicas.produce.append_one(TP, batch("x"), TOPIC_ID, 1).error_code == REFUSED
    assert leader.log.offsets.log_end_offset == end_offset, "nothing was appended"
    leader.replicas.contact.heartbeat_acknowledged(cluster.clock.monotonic_ms(), is_fenced=False)
    assert produce(leader, acks=1) == ACCEPTED
    assert leader.replicas.produce.append_one(TP, batch("x"), TOPIC_ID, 1).error_code == ACCEPTED


def test_records_flow_without_a_controller_while_the_followers_fetch() -> None:
    cluster = Cluster(size=3)
    cluster.create_topic()
    leader = leader_of(cluster)
    for _ in range(20):
        cluster.clock.now_ms += SESSION_MS // 2
        cluster.replicate()
        assert produce(leader, acks=1) == ACCEPTED
        waiting = leader.produce("x")
        cluster.replicate()
        assert waiting[0][0].error_code == ACCEPTED


def test_one_silent_follower_is_enough_to_refuse() -> None:
    """The two others may be cut off together, and the silent one may lead."""
    cluster = Cluster(size=3)
    cluster.create_topic()
    leader = leader_of(cluster)
    cluster.clock.now_ms += SESSION_MS + 1
    for _ in range(3):
        cluster.fetch_once(1)
    assert produce(leader, acks=1) == REFUSED
    for _ in range(3):
        cluster.fetch_once(2)
    assert produce(leader, acks=1) == ACCEPTED


def test_a_fetch_that_waited_while_the_leader_was_stopped_proves_nothing() -> None:
    cluster = Cluster(size=3)
    cluster.create_topic()
    leader = leader_of(cluster)
    cluster.clock.now_ms += 10 * SESSION_MS
    for follower_id in (1, 2):
        cluster.fetch_once(follower_id)
    assert produce(leader, acks=1) == REFUSED
    cluster.clock.now_ms += 500
    for follower_id in (1, 2):
        cluster.fetch_once(follower_id)
    assert produce(leader, acks=1) == ACCEPTED


@pytest.mark.parametrize("fields", [{"replicas": [0]}, {"isr": [0]}])
def test_a_leader_that_is_alone_in_the_isr_goes_on(fields: dict[str, list[int]]) -> None:
    """No other replica can be elected without loss, so nothing is lost by going on."""
    cluster = Cluster(size=2)
    cluster.create_topic(**fields)
    leader = cluster.brokers[0]
    leader.replicas.contact.heartbeat_acknowledged(cluster.clock.monotonic_ms(), is_fenced=False)
    cluster.clock.now_ms += 10 * SESSION_MS
    assert produce(leader, acks=1) == ACCEPTED


def test_reads_and_appends_of_coordinators_go_on() -> None:
    cluster = Cluster(size=2)
    cluster.create_topic()
    leader = leader_of(cluster)
    produce(leader, acks=1)
    cluster.replicate()
    cluster.clock.now_ms += 10 * SESSION_MS
    [[found]] = leader.fetch(0)
    assert found.error_code == ACCEPTED and found.size_bytes > 0
    answers: list[object] = []
    entries = [ProduceEntry(TP, batch("x"))]
    leader.replicas.produce.append(entries, -1, 1_000, answers.append, origin=AppendOrigin.COORDINATOR)
    assert not answers, "it waits for the follower, as ever"


def test_a_fenced_broker_takes_no_records_and_serves_no_reads() -> None:
    cluster = Cluster(size=2)
    cluster.create_topic()
    leader = leader_of(cluster)
    produce(leader, acks=1)
    cluster.replicate()
    leader.replicas.contact.heartbeat_acknowledged(cluster.clock.monotonic_ms(), is_fenced=True)
    assert produce(leader, acks=1) == REFUSED
    assert leader.fetch(0)[0][0].error_code == REFUSED
    assert leader.fetch(0, replica_id=1)[0][0].error_code == ACCEPTED, "a follower may still need the records"
    leader.replicas.contact.heartbeat_acknowledged(cluster.clock.monotonic_ms(), is_fenced=False)
    assert produce(leader, acks=1) == ACCEPTED
    assert leader.fetch(0)[0][0].error_code == ACCEPTED


def test_it_is_logged_once_when_it_begins_and_once_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster(size=2)
    cluster.create_topic()
    leader = leader_of(cluster)
    cluster.clock.now_ms += SESSION_MS + 1
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="odradek.replica"):
        for _ in range(3):
            produce(leader, acks=1)
        leader.replicas.contact.heartbeat_acknowledged(cluster.clock.monotonic_ms(), is_fenced=False)
    assert caplog.messages == [
        "records are rejected: no controller responds, and topic-0 is not fetched by broker 1; "
        "the last heartbeat that a controller acknowledged was sent 9001 ms ago",
        "a controller has acknowledged a heartbeat: records are accepted again",
    ]
