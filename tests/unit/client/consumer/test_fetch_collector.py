"""What is handed out of the buffer, in which order, and what becomes of errors."""

import pytest

from odradek.client.consumer.completed_fetch import RecordDecoding
from odradek.client.consumer.fetch_buffer import FetchBuffer
from odradek.client.consumer.fetch_collector import FetchCollector
from odradek.client.consumer.partition_state import FetchPosition, FetchState
from odradek.client.consumer.subscriptions import Subscriptions
from odradek.client.settings.settings import ResetStrategy
from odradek.client.types import TopicPartition
from odradek.errors import DeserializationFailed, FetchFailed, OffsetOutOfRange, TopicAuthorizationFailed
from odradek.protocol.error_codes import ErrorCode
from unit.client.consumer.fetches import A0, A1, LEADER, at_positions, completed, partition_data, values


class Bench:
    def __init__(self, *offsets: int, reset: ResetStrategy = ResetStrategy.EARLIEST) -> None:
        self.subscriptions: Subscriptions = at_positions(*offsets, reset=reset)
        self.buffer = FetchBuffer()
        self.collector = FetchCollector(self.subscriptions, self.buffer)

    def came(
        self, *batches: bytes, partition: TopicPartition = A0, error_code: int = 0, offset: int | None = None
    ) -> None:
        data = partition_data(*batches, error_code=error_code)
        self.buffer.add(completed(self.subscriptions, data, partition, offset=offset))

    def collected(self, limit: int = 100) -> list[tuple[int, bytes]]:
        return [(row.partition, row.value) for row in self.collector.collect(limit)]


def test_chunks_are_handed_out_in_the_order_in_which_they_came() -> None:
    bench = Bench(0, 0)
    bench.came(values(b"a", b"b"), partition=A1)
    bench.came(values(b"c"), partition=A0)
    bench.came(values(b"d", base_offset=2), partition=A1, offset=2)
    assert bench.collected(3) == [(1, b"a"), (1, b"b"), (0, b"c")]
    assert bench.subscriptions.position(A1) == FetchPosition(2, None, LEADER)
    assert bench.collected() == [(1, b"d")]
    assert bench.collected() == [] and not bench.buffer


def test_a_position_moves_as_records_are_handed_out() -> None:
    bench = Bench(0)
    bench.came(values(b"a", b"b", b"c"))
    bench.collected(2)
    position = bench.subscriptions.position(A0)
    assert position is not None and position.offset == 2
    assert bench.subscriptions.lag(A0, read_committed=False) == 98


def test_what_was_sought_away_from_is_dropped() -> None:
    bench = Bench(0)
    bench.came(values(b"a", b"b"))
    bench.collected(1)
    bench.subscriptions.seek(A0, FetchPosition(0, None, LEADER))
    assert bench.collected() == []
    bench.came(values(b"a", b"b"))
    assert bench.collected() == [(0, b"a"), (0, b"b")]


def test_what_was_given_up_is_dropped_even_if_it_comes_back() -> None:
    bench = Bench(0)
    bench.came(values(b"a"))
    bench.subscriptions.assign([])
    bench.subscriptions.assign([A0])
    bench.subscriptions.seek(A0, FetchPosition(0, None, LEADER))
    assert bench.collected() == []


def test_what_is_paused_waits() -> None:
    bench = Bench(0, 0)
    bench.came(values(b"a"), partition=A0)
    bench.came(values(b"b"), partition=A1)
    bench.subscriptions.pause([A0])
    assert bench.collected() == [(1, b"b")]
    bench.subscriptions.resume([A0])
    assert bench.collected() == [(0, b"a")]


def test_an_error_counts_when_the_position_has_come_to_it() -> None:
    bench = Bench(0)
    bench.came(values(b"a"))
    bench.came(error_code=ErrorCode.OFFSET_OUT_OF_RANGE, offset=1)
    assert bench.buffer.is_full(A0), "nothing is fetched behind an error"
    assert bench.collected() == [(0, b"a")]
    assert bench.subscriptions.is_fetchable(A0)
    assert bench.collected() == []
    assert bench.subscriptions.assigned_state(A0).state is FetchState.AWAIT_RESET


def test_without_a_policy_an_offset_that_is_not_there_is_told() -> None:
    bench = Bench(7, reset=ResetStrategy.NONE)
    bench.came(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    with pytest.raises(OffsetOutOfRange, match="a-0 has no offset 7"):
        bench.collected()
    position = bench.subscriptions.position(A0)
    assert position is not None and position.offset == 7 and not bench.buffer


def test_a_follower_that_is_behind_only_loses_its_preference() -> None:
    bench = Bench(7, reset=ResetStrategy.NONE)
    state = bench.subscriptions.assigned_state(A0)
    state.prefer_replica(3, 1e9)
    bench.came(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    assert bench.collected() == [] and state.preferred_read_replica is None
    assert bench.subscriptions.is_fetchable(A0)


@pytest.mark.parametrize(
    ("code", "error", "said"),
    [
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, TopicAuthorizationFailed, "not allowed to read a"),
        (ErrorCode.CORRUPT_MESSAGE, FetchFailed, "CORRUPT_MESSAGE"),
        (ErrorCode.INVALID_REQUEST, FetchFailed, "INVALID_REQUEST"),
    ],
)
def test_errors_that_the_application_must_know(code: int, error: type[Exception], said: str) -> None:
    bench = Bench(0)
    bench.came(error_code=code)
    with pytest.raises(error, match=said):
        bench.collected()


def test_records_come_before_the_error_behind_them() -> None:
    bench = Bench(0, 0)
    bench.came(values(b"a"), partition=A0)
    bench.came(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, partition=A1)
    assert bench.collected() == [(0, b"a")]
    with pytest.raises(TopicAuthorizationFailed):
        bench.collected()


def test_the_buffer_holds_two_chunks_of_a_partition() -> None:
    bench = Bench(0)
    assert not bench.buffer.is_full(A0)
    bench.came(values(b"a"))
    assert not bench.buffer.is_full(A0)
    bench.came(values(b"b", base_offset=1), offset=1)
    last = bench.buffer.last(A0)
    assert bench.buffer.is_full(A0) and last is not None and last.end_offset == 2
    bench.subscriptions.seek(A0, FetchPosition(5, None, LEADER))
    bench.buffer.clean()
    assert not bench.buffer and bench.buffer.last(A0) is None


def test_of_whom_something_was_handed_out_comes_last_in_the_next_request() -> None:
    bench = Bench(0, 0)
    bench.came(values(b"a"), partition=A0)
    bench.collected()
    bench.collected()
    assert [partition for partition, _ in bench.subscriptions.fetchable()] == [A1, A0]
    assert bench.collector.has_room


def test_records_before_one_that_cannot_be_deserialized_are_not_lost() -> None:
    bench = Bench(0, 0)
    for partition, text in ((A0, b"1"), (A1, b"x")):
        data, reading = partition_data(values(text)), RecordDecoding(value_deserializer=int)
        bench.buffer.add(completed(bench.subscriptions, data, partition, reading))
    assert bench.collected() == [(0, 1)]
    for _ in range(2):
        with pytest.raises(DeserializationFailed, match="a-1, offset 0"):
            bench.collected()
