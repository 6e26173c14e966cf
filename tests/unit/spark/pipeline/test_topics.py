"""What is asked of the cluster for a pipeline that runs: each record of a topic of dead letters is read once."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.protocol.error_codes import ErrorCode
from odradek.spark.pipeline import topics
from odradek.spark.pipeline.definitions import Definitions, read_definitions, uses_of
from odradek.spark.pipeline.project import read_project
from odradek.spark.pipeline.topics import DeadLetterCounts, Lags, RecordCount

ZERO, ONE = TopicPartition("orders.dead", 0), TopicPartition("orders.dead", 1)

DEFINITIONS = """\
from pyspark import pipelines as dp

dp.create_sink("letters", "odradek", {"kafka.bootstrap.servers": "localhost:1", "topic": "orders.dead"})
dp.create_sink("others", "odradek", {"kafka.bootstrap.servers": "localhost:1", "topic": "clicks.dead"})
spark.readStream.format("odradek").option("kafka.bootstrap.servers", "localhost:1").option("subscribe", "orders").load()
"""


@dataclass
class FakeCluster:
    """Two partitions; of the offsets of the first every other is a record, the others are markers of transactions."""

    starts_at: dict[TopicPartition, int] = field(default_factory=lambda: {ZERO: 0, ONE: 0})
    ends_at: dict[TopicPartition, int] = field(default_factory=lambda: {ZERO: 0, ONE: 0})
    is_silent: bool = False
    asked: int = 0
    reads: list[tuple[TopicPartition, int, int]] = field(default_factory=list)

    def topics(self, names: Iterable[str] | None = None) -> dict[str, tuple[int, ...]]:
        self.asked += 1
        if self.is_silent:
            raise ApiError("nobody answers", ErrorCode.NETWORK_EXCEPTION)
        return {"orders.dead": (0, 1)}

    def starts(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {partition: self.starts_at[partition] for partition in partitions}

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        if self.is_silent:
            self.asked += 1
            raise ApiError("nobody answers", ErrorCode.NETWORK_EXCEPTION)
        return {partition: self.ends_at.get(partition, 40) for partition in partitions}

    def count(self, partition: TopicPartition, start: int, end: int) -> int:
        self.reads.append((partition, start, end))
        return (end - start) // 2 if partition == ZERO else end - start

    def close(self) -> None:
        pass


def test_only_what_was_added_is_read() -> None:
    cluster = FakeCluster(ends_at={ZERO: 10, ONE: 3})
    counting = RecordCount(cluster, "orders.dead")  # type: ignore[arg-type]
    assert counting.refresh() == 5 + 3
    assert counting.refresh() == 8 and len(cluster.reads) == 2
    cluster.ends_at[ZERO] = 14
    assert counting.refresh() == 10
    assert cluster.reads[2:] == [(ZERO, 10, 14)]


def test_records_that_were_deleted_do_not_count() -> None:
    cluster = FakeCluster(ends_at={ZERO: 10, ONE: 3})
    counting = RecordCount(cluster, "orders.dead")  # type: ignore[arg-type]
    counting.refresh()
    cluster.starts_at[ZERO] = 6
    assert counting.refresh() == 2 + 3
    cluster.starts_at[ZERO], cluster.ends_at[ZERO] = 0, 2  # the topic was created again
    assert counting.refresh() == 1 + 3


def test_a_topic_that_does_not_exist_and_one_that_is_very_long() -> None:
    cluster = FakeCluster(ends_at={ZERO: 300_000, ONE: 0})
    assert RecordCount(cluster, "else").refresh() is None  # type: ignore[arg-type]
    assert RecordCount(cluster, "orders.dead").refresh() == 300_000  # type: ignore[arg-type]
    assert cluster.reads == []


@pytest.fixture
def definitions(tmp_path: Path) -> list[Definitions]:
    (tmp_path / "spark-pipeline.yml").write_text(
        "name: shop\nstorage: storage\nlibraries: [{glob: {include: flows.py}}]\n"
    )
    (tmp_path / "flows.py").write_text(DEFINITIONS)
    return read_definitions(read_project(str(tmp_path)))


def test_dead_letters_of_a_project(definitions: list[Definitions], monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that does not answer is waited for once, not once for each topic."""
    cluster = FakeCluster(ends_at={ZERO: 10, ONE: 0})
    monkeypatch.setattr(topics, "Cluster", lambda settings: cluster)
    counts = DeadLetterCounts(definitions)
    assert counts.refresh() == {"orders.dead": 5, "clicks.dead": None}
    cluster.is_silent, cluster.asked = True, 0
    assert counts.refresh() == {"orders.dead": None, "clicks.dead": None} and cluster.asked == 1


def test_a_cluster_that_does_not_answer_is_left_alone_for_a_while(
    definitions: list[Definitions], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = FakeCluster()
    monkeypatch.setattr(topics, "Cluster", lambda settings: cluster)
    lags, orders = Lags(uses_of(definitions)), TopicPartition("orders", 0)
    assert lags.ends([orders]) == {orders: 40} and lags.of({orders: 30}) == 10
    cluster.is_silent = True
    assert lags.ends([orders]) is None and lags.of({orders: 30}) is None
    assert cluster.asked == 1
    assert lags.of({}) is None
