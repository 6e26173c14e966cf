"""Many partitions share one log line; a few have a line each."""

import logging

import pytest

from odradek.common.ids import TopicPartition
from odradek.protocol.messages.partition_change_record import PartitionChangeRecord
from odradek.replica.log_lines import PartitionLogLines
from support.builders.replica import TOPIC_ID, TP, Cluster, partition_record

MANY = 100


@pytest.mark.parametrize(("count", "expected_count"), [(1, 1), (5, 5), (6, 1), (1_000, 1)])
def test_a_summary_takes_the_place_of_many_lines(
    count: int, expected_count: int, caplog: pytest.LogCaptureFixture
) -> None:
    lines = PartitionLogLines(logging.getLogger("test"))
    for number in range(count):
        lines.add(logging.WARNING, "are gone", TopicPartition("t", number), f"is gone at {number}")
    with caplog.at_level(logging.DEBUG, logger="test"):
        lines.flush()
        lines.flush()
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == expected_count
    if count > 5:
        assert warnings == [f"{count} partitions are gone: t-0, t-1, t-2, t-3, t-4, …"]
    assert f"t-{count - 1}: is gone at {count - 1}" in caplog.messages, "the details are there at DEBUG"


def change_leader(leader: int) -> list[PartitionChangeRecord]:
    return [PartitionChangeRecord(topic_id=TOPIC_ID, partition_id=n, leader=leader) for n in range(MANY)]


def test_an_election_of_many_partitions_is_a_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster(size=2)
    cluster.create_topic()
    cluster.replay(*(partition_record([0, 1], number=number) for number in range(1, MANY)))
    cluster.replicate()
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="odradek.replica"):
        cluster.replay(*change_leader(1))
        cluster.replicate()
    lines = [record.getMessage() for record in caplog.records]
    assert [line.split(": ")[0] for line in lines] == [
        f"{MANY} partitions follow broker 1 in a new epoch",
        f"{MANY} partitions are led by this broker in a new epoch",
    ]


def test_a_follower_behind_its_leader_says_so_once_and_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """The leader has heard of the new epoch already."""
    cluster = Cluster(size=2)
    cluster.create_topic()
    cluster.replay(*(partition_record([0, 1], number=number) for number in range(1, MANY)))
    cluster.replicate()
    for number in range(MANY):
        cluster.brokers[0].replicas.partitions.online[TP._replace(partition=number)].role.leader_epoch += 1
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="odradek.replica"):
        cluster.fetch_once(1)
    [record] = caplog.records
    assert record.levelno == logging.INFO
    assert record.getMessage().startswith(
        f"{MANY} partitions are no longer fetched from broker 0: it has a newer leader epoch: topic-"
    )
