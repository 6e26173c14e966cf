"""What a client knows of the cluster, and how answers of different age change it."""

import pytest

from odradek.client.net.metadata_cache import MetadataCache, Node
from odradek.client.types import TopicPartition
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ID_1, ID_2 = bytes(15) + b"\x01", bytes(15) + b"\x02"
ZERO = TopicPartition("orders", 0)
ONE = TopicPartition("orders", 1)


def topic(
    name: str, leaders: list[tuple[int, int]], topic_id: bytes = ID_1, error_code: int = 0
) -> MetadataResponseTopic:
    """`leaders`: node and epoch of each partition."""
    partitions = [
        MetadataResponsePartition(
            partition_index=number,
            leader_id=node_id,
            leader_epoch=epoch,
            replica_nodes=[1, 2],
            isr_nodes=[1],
            error_code=ErrorCode.LEADER_NOT_AVAILABLE if node_id < 0 else 0,
        )
        for number, (node_id, epoch) in enumerate(leaders)
    ]
    return MetadataResponseTopic(name=name, topic_id=topic_id, partitions=partitions[::-1], error_code=error_code)


def answer(*topics: MetadataResponseTopic) -> MetadataResponse:
    brokers = [MetadataResponseBroker(node_id=node_id, host="h", port=9090 + node_id) for node_id in (1, 2)]
    return MetadataResponse(cluster_id="c", controller_id=2, brokers=brokers, topics=list(topics))


def cache(*topics: MetadataResponseTopic, max_idle_ms: float | None = None) -> MetadataCache:
    made = MetadataCache(1_000, max_idle_ms)
    made.want_topics([each.name or "" for each in topics])
    made.update(answer(*topics), 0)
    return made


def test_an_answer_is_known() -> None:
    known = cache(topic("orders", [(1, 5), (-1, 6)]))
    assert (known.cluster_id, known.controller_id) == ("c", 2)
    assert known.nodes[2] == Node(2, "h", 9092)
    assert [each.partition for each in known.partitions("orders")] == [0, 1]
    assert known.leader(ZERO) == (1, 5)
    assert known.leader(ONE) is None and known.leader_epoch(ONE) == 6
    assert (known.topic_id("orders"), known.topic_name(ID_1)) == (ID_1, "orders")
    assert known.partitions("others") == () and known.topic("others") is None and known.topic_id("others") is None


def test_it_is_stale_before_the_first_answer_by_age_on_request_and_for_new_topics() -> None:
    known = MetadataCache(1_000)
    assert known.is_stale(0)
    known.update(answer(), 0)
    assert not known.is_stale(999) and known.is_stale(1_000)
    known.request_update()
    assert known.is_stale(1)
    known.update(answer(), 1)
    known.want_topics(["orders"])
    assert known.is_stale(2)
    known.update(answer(topic("orders", [(1, 0)])), 2)
    known.want_topics(["orders"])
    assert not known.is_stale(3), "nothing new is wanted"


@pytest.mark.parametrize("code", [ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
def test_what_passes_is_asked_for_again(code: ErrorCode) -> None:
    known = cache(topic("orders", [], error_code=code))
    assert known.topic_error("orders") == code and known.is_stale(1)
    known.update(answer(topic("orders", [(1, 0)])), 2)
    assert known.topic_error("orders") == 0 and not known.is_stale(3)


def test_what_does_not_pass_is_not_asked_for_again() -> None:
    known = cache(topic("orders", [], error_code=ErrorCode.INVALID_TOPIC_EXCEPTION))
    assert known.topic_error("orders") == ErrorCode.INVALID_TOPIC_EXCEPTION and not known.is_stale(1)


def test_a_partition_without_a_leader_is_asked_for_again() -> None:
    assert cache(topic("orders", [(1, 0), (-1, 3)])).is_stale(1)


def test_epochs_never_go_back() -> None:
    known = cache(topic("orders", [(1, 5), (1, 5)]))
    known.update(answer(topic("orders", [(2, 4), (2, 6)])), 1)
    assert known.leader(ZERO) == (1, 5), "an answer that is older is left alone"
    assert known.leader(ONE) == (2, 6)
    assert known.partitions("orders")[0].leader_id == 1


def test_a_topic_made_anew_starts_again() -> None:
    known = cache(topic("orders", [(1, 5), (1, 5)]))
    known.update(answer(topic("orders", [(2, 0)], ID_2)), 1)
    assert known.leader(ZERO) == (2, 0) and known.leader(ONE) is None
    assert known.topic_name(ID_1) is None and known.topic_name(ID_2) == "orders"


def test_a_topic_that_was_gone_starts_again() -> None:
    known = cache(topic("orders", [(1, 5)]))
    known.update(answer(topic("orders", [], error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)), 1)
    assert known.leader(ZERO) is None and known.topic_name(ID_1) is None
    known.update(answer(topic("orders", [(2, 0)], ID_2)), 2)
    assert known.leader(ZERO) == (2, 0)


def test_answers_without_epochs_count() -> None:
    known = cache(topic("orders", [(1, 5)]))
    known.update(answer(topic("orders", [(2, -1)])), 1)
    assert known.leader(ZERO) == (2, -1)


def test_a_hint_of_a_new_leader_counts_if_it_is_later_and_its_address_is_known() -> None:
    known = cache(topic("orders", [(1, 5)]))
    before = known.version
    assert not known.update_leader(ZERO, 2, 5) and not known.update_leader(ZERO, 2, 4)
    assert not known.update_leader(ZERO, 9, 6), "nobody knows where 9 is"
    assert not known.update_leader(TopicPartition("others", 0), 2, 6)
    assert not known.update_leader(TopicPartition("orders", 7), 2, 6)
    assert known.leader(ZERO) == (1, 5) and known.version == before
    assert known.update_leader(ZERO, 2, 6)
    assert known.leader(ZERO) == (2, 6) and known.partitions("orders")[0].leader_epoch == 6
    assert known.version > before
    assert known.update_leader(ZERO, 9, 7, Node(9, "new", 1))
    assert known.leader(ZERO) == (9, 7) and known.nodes[9].host == "new"
    known.update(answer(topic("orders", [(1, 5)])), 1)
    assert known.leader(ZERO) == (9, 7), "the answer was older than the hint"


def test_a_later_epoch_seen_elsewhere_makes_it_stale() -> None:
    known = cache(topic("orders", [(1, 5)]))
    assert not known.see_epoch(ZERO, 5) and not known.see_epoch(ONE, 5) and not known.is_stale(1)
    assert known.see_epoch(ZERO, 6) and known.is_stale(1)
    known.update(answer(topic("orders", [(2, 5)])), 1)
    assert known.leader(ZERO) == (1, 5), "the answer is older than what was seen"


def test_the_question_is_about_what_is_wanted() -> None:
    known = cache(topic("orders", [(1, 0)]))
    known.use_topic("used", 0)
    assert known.question(1).topics == ("used",) and not known.question(1).is_whole, "only what is new"
    known.request_update()
    assert known.question(1).topics == ("orders", "used") and known.question(1).is_whole
    known.want_all()
    assert known.question(1).topics is None


def test_a_part_leaves_the_rest_as_it_is() -> None:
    known = cache(topic("orders", [(1, 0)]))
    known.use_topic("used", 0)
    known.update(answer(topic("used", [(2, 0)], ID_2)), 500, is_whole=False)
    assert sorted(known.topics) == ["orders", "used"]
    assert known.stale_at_ms() == 1_000, "the rest is as old as before"
    known.update(answer(topic("orders", [(1, 0)])), 600)
    assert sorted(known.topics) == ["orders"]


def test_topics_that_nobody_uses_are_forgotten() -> None:
    known = MetadataCache(1_000, max_idle_ms=100)
    known.use_topic("busy", 0)
    known.use_topic("idle", 0)
    known.use_topic("busy", 60)
    assert known.question(90).topics == ("busy", "idle")
    assert known.question(110).topics == ("busy",)
    assert known.question(160).topics == ()
