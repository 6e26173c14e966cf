"""Fetch sessions as KIP-227 has them: who remembers what, and what makes the two ends begin anew."""

from odradek.client.consumer.fetch_session import FetchSession, PartitionFetch, SessionRequest
from odradek.client.types import TopicPartition
from odradek.common.ids import ZERO_UUID
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData

VERSION = 17
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
IDS = {"a": b"a" * 16, "b": b"b" * 16}


def fetch(partition: TopicPartition, offset: int, topic_id: bytes | None = None) -> PartitionFetch:
    return PartitionFetch(IDS[partition.topic] if topic_id is None else topic_id, offset, 1000, 3, 0)


def response(*partitions: TopicPartition, session_id: int = 9, error_code: int = 0) -> FetchResponse:
    topics: dict[str, FetchableTopicResponse] = {}
    for name, index in partitions:
        topic = topics.setdefault(name, FetchableTopicResponse(topic=name, topic_id=IDS.get(name, b"?" * 16)))
        topic.partitions.append(PartitionData(partition_index=index))
    return FetchResponse(session_id=session_id, error_code=error_code, responses=list(topics.values()))


def opened(*partitions: TopicPartition) -> FetchSession:
    session = FetchSession()
    session.build({partition: fetch(partition, 0) for partition in partitions})
    assert session.handle_response(response(*partitions), VERSION) is not None
    return session


def on_the_wire(request: SessionRequest) -> FetchRequest:
    wire = FetchRequest()
    request.fill(wire)
    return wire


def test_the_first_request_is_full_and_asks_for_a_session() -> None:
    session = FetchSession()
    wire = on_the_wire(session.build({A0: fetch(A0, 5), B0: fetch(B0, 6), A1: fetch(A1, 7)}))
    assert (wire.session_id, wire.session_epoch) == (0, 0)
    assert [(t.topic, t.topic_id, [(p.partition, p.fetch_offset) for p in t.partitions]) for t in wire.topics] == [
        ("a", IDS["a"], [(0, 5), (1, 7)]),
        ("b", IDS["b"], [(0, 6)]),
    ]
    assert [p.current_leader_epoch for p in wire.topics[0].partitions] == [3, 3]


def test_then_only_what_changed_is_sent() -> None:
    session = opened(A0, A1, B0)
    wire = on_the_wire(session.build({A0: fetch(A0, 4), A1: fetch(A1, 0)}))
    assert (wire.session_id, wire.session_epoch) == (9, 1)
    assert [(t.topic, [p.partition for p in t.partitions]) for t in wire.topics] == [("a", [0])]
    assert [(t.topic_id, t.partitions) for t in wire.forgotten_topics_data] == [(IDS["b"], [0])]
    found = session.handle_response(response(A1), VERSION)
    assert found is not None and list(found) == [A1], "partitions without news are left out of the response"
    assert session.build({A0: fetch(A0, 4), A1: fetch(A1, 0)}).epoch == 2


def test_a_topic_that_was_made_anew_is_forgotten_under_its_old_id() -> None:
    session = opened(A0)
    wire = on_the_wire(session.build({A0: fetch(A0, 0, b"n" * 16)}))
    assert [topic.topic_id for topic in wire.topics] == [b"n" * 16]
    assert [topic.topic_id for topic in wire.forgotten_topics_data] == [IDS["a"]]


def test_a_position_that_came_back_to_its_offset_is_asked_for_again() -> None:
    session = opened(A0)
    assert list(session.build({A0: fetch(A0, 0)._replace(generation=1)}).to_send) == [A0]


def test_errors_of_the_session_make_the_next_request_full() -> None:
    for error, session_id in (
        (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0),
        (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 9),
        (ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, 9),
    ):
        session = opened(A0, A1)
        session.build({A0: fetch(A0, 1), A1: fetch(A1, 0)})
        assert session.handle_response(response(error_code=error), VERSION) is None
        request = session.build({A0: fetch(A0, 1), A1: fetch(A1, 0)})
        assert (request.session_id, request.epoch, len(request.to_send)) == (session_id, 0, 2), error


def test_no_answer_ends_the_session_too() -> None:
    session = opened(A0)
    session.build({A0: fetch(A0, 1)})
    session.handle_error()
    request = session.build({A0: fetch(A0, 1)})
    assert (request.session_id, request.epoch, list(request.to_send)) == (9, 0, [A0])


def test_a_full_response_has_every_partition() -> None:
    session = FetchSession()
    session.build({A0: fetch(A0, 0), A1: fetch(A1, 0)})
    assert session.handle_response(response(A0), VERSION) is None
    assert session.build({A0: fetch(A0, 0)}).epoch == 0


def test_nothing_comes_that_was_not_asked_for() -> None:
    session = opened(A0)
    session.build({A0: fetch(A0, 0)})
    assert session.handle_response(response(A0, TopicPartition("c", 0)), VERSION) is None


def test_a_node_may_keep_no_session() -> None:
    session = FetchSession()
    session.build({A0: fetch(A0, 0)})
    assert session.handle_response(response(A0, session_id=0), VERSION) is not None
    request = session.build({A0: fetch(A0, 0)})
    assert (request.session_id, request.epoch, list(request.to_send)) == (0, 0, [A0])


def test_without_ids_topics_go_by_their_names() -> None:
    session = FetchSession()
    request = session.build({A0: fetch(A0, 0, ZERO_UUID), B0: fetch(B0, 0)})
    assert request.last_version == 12
    assert session.handle_response(response(A0, B0), 12) is not None
    assert session.build({B0: fetch(B0, 0)}).last_version == 12, "what is forgotten has no id either"


def test_the_last_request_closes_the_session() -> None:
    assert FetchSession().closing() is None
    session = opened(A0)
    closing = session.closing()
    assert closing is not None and (closing.session_id, closing.epoch) == (9, -1)
    assert session.closing() is None
