"""Incremental fetch sessions (KIP-227) at the requesting side: requests, and what makes the next one full again."""

from odradek.common.ids import ZERO_UUID, TopicPartition
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.fetch_session import FetchRequestData, FetchSessionHandler, PartitionFetch
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData

VERSION = 17
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
IDS = {"a": b"a" * 16, "b": b"b" * 16}


def fetch(partition: TopicPartition, offset: int, topic_id: bytes | None = None) -> PartitionFetch:
    return PartitionFetch(IDS[partition.topic] if topic_id is None else topic_id, offset, 1000, 3)


def response(*partitions: TopicPartition, session_id: int = 9, error_code: int = 0) -> FetchResponse:
    topics: dict[str, FetchableTopicResponse] = {}
    for name, index in partitions:
        topic = topics.setdefault(name, FetchableTopicResponse(topic=name, topic_id=IDS.get(name, b"?" * 16)))
        topic.partitions.append(PartitionData(partition_index=index))
    return FetchResponse(session_id=session_id, error_code=error_code, responses=list(topics.values()))


def open_session(*partitions: TopicPartition) -> FetchSessionHandler:
    session = FetchSessionHandler()
    session.build({partition: fetch(partition, 0) for partition in partitions})
    assert session.handle_response(response(*partitions), VERSION) is not None
    return session


def filled(request: FetchRequestData) -> FetchRequest:
    return FetchRequest(
        session_id=request.session_id,
        session_epoch=request.epoch,
        topics=request.topics(),
        forgotten_topics_data=request.forgotten_topics(),
    )


def test_first_request_is_full_and_opens_a_session() -> None:
    session = FetchSessionHandler()
    message = filled(session.build({A0: fetch(A0, 5), B0: fetch(B0, 6), A1: fetch(A1, 7)}))
    assert (message.session_id, message.session_epoch) == (0, 0)
    assert [(t.topic, t.topic_id, [(p.partition, p.fetch_offset) for p in t.partitions]) for t in message.topics] == [
        ("a", IDS["a"], [(0, 5), (1, 7)]),
        ("b", IDS["b"], [(0, 6)]),
    ]
    assert [p.current_leader_epoch for p in message.topics[0].partitions] == [3, 3]


def test_later_requests_name_only_changed_partitions() -> None:
    session = open_session(A0, A1, B0)
    message = filled(session.build({A0: fetch(A0, 4), A1: fetch(A1, 0)}))
    assert (message.session_id, message.session_epoch) == (9, 1)
    assert [(t.topic, [p.partition for p in t.partitions]) for t in message.topics] == [("a", [0])]
    assert [(t.topic_id, t.partitions) for t in message.forgotten_topics_data] == [(IDS["b"], [0])]
    received = session.handle_response(response(A1), VERSION)
    assert received is not None and list(received) == [A1], "unchanged partitions are left out of the response"
    assert session.build({A0: fetch(A0, 4), A1: fetch(A1, 0)}).epoch == 2


def test_recreated_topic_is_forgotten_with_its_old_id() -> None:
    session = open_session(A0)
    message = filled(session.build({A0: fetch(A0, 0, b"n" * 16)}))
    assert [topic.topic_id for topic in message.topics] == [b"n" * 16]
    assert [topic.topic_id for topic in message.forgotten_topics_data] == [IDS["a"]]


def test_new_generation_of_a_position_is_sent_again() -> None:
    session = open_session(A0)
    assert list(session.build({A0: fetch(A0, 0)._replace(generation=1)}).to_send) == [A0]


def test_session_errors_make_the_next_request_full() -> None:
    for error, session_id in (
        (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0),
        (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 9),
        (ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, 9),
    ):
        session = open_session(A0, A1)
        session.build({A0: fetch(A0, 1), A1: fetch(A1, 0)})
        assert session.handle_response(response(error_code=error), VERSION) is None
        request = session.build({A0: fetch(A0, 1), A1: fetch(A1, 0)})
        assert (request.session_id, request.epoch, len(request.to_send)) == (session_id, 0, 2), error


def test_missing_response_restarts_the_session() -> None:
    session = open_session(A0)
    session.build({A0: fetch(A0, 1)})
    session.handle_error()
    request = session.build({A0: fetch(A0, 1)})
    assert (request.session_id, request.epoch, list(request.to_send)) == (9, 0, [A0])


def test_full_response_must_have_every_partition() -> None:
    session = FetchSessionHandler()
    session.build({A0: fetch(A0, 0), A1: fetch(A1, 0)})
    assert session.handle_response(response(A0), VERSION) is None
    assert session.build({A0: fetch(A0, 0)}).epoch == 0


def test_response_with_a_foreign_partition_is_rejected() -> None:
    session = open_session(A0)
    session.build({A0: fetch(A0, 0)})
    assert session.handle_response(response(A0, TopicPartition("c", 0)), VERSION) is None


def test_broker_without_session_cache_slot_gets_full_requests() -> None:
    session = FetchSessionHandler()
    session.build({A0: fetch(A0, 0)})
    assert session.handle_response(response(A0, session_id=0), VERSION) is not None
    request = session.build({A0: fetch(A0, 0)})
    assert (request.session_id, request.epoch, list(request.to_send)) == (0, 0, [A0])


def test_topics_without_ids_use_a_version_with_names() -> None:
    session = FetchSessionHandler()
    request = session.build({A0: fetch(A0, 0, ZERO_UUID), B0: fetch(B0, 0)})
    assert request.last_version == 12
    assert session.handle_response(response(A0, B0), 12) is not None
    assert session.build({B0: fetch(B0, 0)}).last_version == 12, "the forgotten partition has no id"


def test_close_request_closes_the_session_once() -> None:
    assert FetchSessionHandler().build_close_request() is None
    session = open_session(A0)
    closing = session.build_close_request()
    assert closing is not None and (closing.session_id, closing.epoch) == (9, -1)
    assert session.build_close_request() is None


def test_fields_of_followers_are_sent() -> None:
    session = FetchSessionHandler()
    fetch_of_follower = PartitionFetch(IDS["a"], 5, 1000, 3, log_start_offset=2, last_fetched_epoch=1)
    [topic] = filled(session.build({A0: fetch_of_follower})).topics
    assert [(p.log_start_offset, p.last_fetched_epoch) for p in topic.partitions] == [(2, 1)]
