"""Read everything between two offsets of one or more partitions, chunk by chunk, as columns.

Each leader gets one Fetch request for all of its partitions, and the requests of all leaders are in flight at the same
time. While a chunk is decoded the next request to the same leader is in flight already: the next fetch offsets are
known from the batch headers alone. So many small ranges cost about as much as a single one, on one broker or several.

When a leader refuses a request or disappears, its partitions are looked up again and reading continues at the last
position. Offsets that compaction or transactions left out are skipped silently; offsets that were deleted from the
beginning of the log raise `DataLost`.
"""

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from odradek.client.direct.leader_connections import Leaders, Leadership
from odradek.client.direct.offsets import MOVED, list_offsets
from odradek.common import list_offsets_timestamps
from odradek.common.addresses import HostPort
from odradek.common.ids import ZERO_UUID, TopicPartition, uuid_to_text
from odradek.errors import Disconnected, OffsetsDeleted, Refused, RequestTimedOut, TopicReplaced, Unreachable
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.fetch_response import FetchResponse, PartitionData
from odradek.records.aborted import AbortedTransaction
from odradek.records.batch import offset_after
from odradek.records.columns.record_columns import Columns, read_columns

#: Size of one response, and of one Arrow batch in Spark. Large enough that the cost per request vanishes, small enough
#: that the memory of the previous chunk is reused. Twice as much is slower, and so is a quarter.
_CHUNK_BYTES = 8 * 1024 * 1024

#: Towards the end of a range no more is requested than is likely to be needed: what lies behind it would be thrown
#: away. Until a chunk has shown how large the records are, one kilobyte is assumed.
_CHUNK_BYTES_MIN = 64 * 1024
_RECORD_BYTES_GUESS = 1024
_SLACK = 1.1

#: How long a leader may wait for data (fetch.max.wait.ms). There is data up to the end of a range, so it rarely does.
_WAIT_MS = 500

#: Time between two attempts after a failure (retry.backoff.ms).
_RETRY_S = 0.1

#: Look-ups that must show another topic id than the requested one before the topic counts as replaced. The metadata of
#: a broker may be some moments old, and so show the id of the previous topic.
_TOPIC_ID_ATTEMPTS = 10

_PASSING = (Disconnected, RequestTimedOut, Unreachable)


def replaced_text(topic: str, old_id: bytes, new_id: bytes) -> str:
    ids = f"the offsets are of topic id {uuid_to_text(old_id)}, and it has topic id {uuid_to_text(new_id)} now"
    return f"topic {topic} was deleted and created again: {ids}"


@dataclass(frozen=True, slots=True)
class RangeRequest:
    partition: TopicPartition
    start: int
    end: int
    #: The topic that the offsets are of. ZERO_UUID reads whatever topic has the name.
    topic_id: bytes = ZERO_UUID
    is_read_committed: bool = False
    #: Reading fails after this long without progress.
    timeout_ms: int = 120_000
    chunk_bytes: int = _CHUNK_BYTES
    check_crcs: bool = True


class Chunk(NamedTuple):
    partition: TopicPartition
    #: At least one record.
    columns: Columns


def read_range(leaders: Leaders, request: RangeRequest) -> Generator[Columns, None, None]:
    """Yield the records of one range. See `read_ranges`."""
    chunks = read_ranges(leaders, [request])
    try:
        for chunk in chunks:
            yield chunk.columns
    finally:
        chunks.close()


def read_ranges(
    leaders: Leaders,
    requests: Sequence[RangeRequest],
    *,
    clock_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Generator[Chunk, None, None]:
    """Yield the records of ranges of different partitions, in order within each partition, partitions interleaved.

    Raises DataLost, or RequestTimedOut with the last reason when nothing was read for `timeout_ms`. A caller that does
    not read to the end must close the generator, so that its connections can be reused."""
    reader = _Reader(leaders, [_Range(request) for request in requests], clock_s, sleep)
    try:
        yield from reader.chunks()
    finally:
        reader.settle()


class _Range:
    """Progress of one request."""

    def __init__(self, request: RangeRequest) -> None:
        self.request = request
        self.partition = request.partition
        self.position = request.start
        #: Look-ups that have shown another topic id.
        self.mismatches = 0
        self._record_bytes: float = _RECORD_BYTES_GUESS

    @property
    def is_done(self) -> bool:
        return self.position >= self.request.end

    def is_replaced_by(self, topic_id: bytes) -> bool:
        """Brokers below Kafka 2.8 have no topic ids."""
        return ZERO_UUID not in (self.request.topic_id, topic_id) and self.request.topic_id != topic_id

    def chunk_bytes(self) -> int:
        likely = int((self.request.end - self.position) * self._record_bytes * _SLACK)
        return min(self.request.chunk_bytes, max(_CHUNK_BYTES_MIN, likely))

    def advance(self, after: int, size: int) -> None:
        self._record_bytes = size / max(1, after - self.position)
        self.position = after

    def decode(self, data: PartitionData, position: int) -> Columns:
        aborted = [
            AbortedTransaction(transaction.producer_id, transaction.first_offset)
            for transaction in (data.aborted_transactions or () if self.request.is_read_committed else ())
        ]
        check = self.request.check_crcs
        columns = read_columns(data.records or b"", from_offset=position, aborted=aborted, check=check)
        return columns.before(self.request.end)


class _Fetched(NamedTuple):
    range: _Range
    position: int
    data: PartitionData


class _Sent(NamedTuple):
    range: _Range
    leadership: Leadership


class _Reader:
    """Has at most one request in flight to each leader."""

    def __init__(
        self,
        leaders: Leaders,
        ranges: Sequence[_Range],
        clock_s: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._leaders = leaders
        self._clock_s = clock_s
        self._sleep = sleep
        self._unfinished = [each for each in ranges if not each.is_done]
        self._in_flight: dict[HostPort, list[_Sent]] = {}
        self._timeout_ms = max((each.request.timeout_ms for each in ranges), default=0)
        #: Why the last attempt failed. None while all leaders respond.
        self._failure: str | None = None

    def chunks(self) -> Generator[Chunk, None, None]:
        progress_s = self._clock_s()
        while self._unfinished:
            self._send_waiting()
            for leader in list(self._in_flight):
                fetched = self._receive(leader)
                self._send_ahead(leader)
                for each in fetched:
                    columns = each.range.decode(each.data, each.position)
                    if len(columns):
                        yield Chunk(each.range.partition, columns)
                if fetched:
                    progress_s = self._clock_s()
            if self._clock_s() - progress_s > self._timeout_ms / 1000:
                raise RequestTimedOut(self._timed_out())

    def settle(self) -> None:
        """Drop connections with a response that nobody will receive."""
        for leader in self._in_flight:
            self._leaders.drop(leader)
        self._in_flight.clear()

    def _timed_out(self) -> str:
        waiting = self._unfinished[0]
        reason = self._failure or "the leader returned no data"
        return f"{waiting.partition} at offset {waiting.position}: nothing read for {self._timeout_ms} ms ({reason})"

    def _send_waiting(self) -> None:
        """Send a request for all ranges that have none in flight.

        After a failure leaders are looked up again, on connections that must have no response outstanding: so that
        waits until all are received."""
        sent = {id(each.range) for batch in self._in_flight.values() for each in batch}
        waiting = [each for each in self._unfinished if id(each) not in sent]
        is_known = all(self._leaders.knows(each.partition) for each in waiting)
        if not waiting or (self._in_flight and (self._failure is not None or not is_known)):
            return
        if self._failure is not None:
            self._sleep(_RETRY_S)
        self._failure = None
        try:
            self._leaders.look_up([each.partition for each in waiting])
        except _PASSING as error:
            self._failure = error.message
            return
        by_leader = self._by_leader(waiting)
        if not by_leader and self._failure is None:
            self._failure = "no leader"
        for leader, batch in by_leader.items():
            if leader not in self._in_flight:
                self._send(leader, batch)

    def _by_leader(self, ranges: Iterable[_Range]) -> dict[HostPort, list[_Sent]]:
        """Leave out partitions without a leader: the others need not wait for them."""
        by_leader: dict[HostPort, list[_Sent]] = {}
        for each in ranges:
            if self._leaders.knows(each.partition):
                leadership = self._leaders.of(each.partition)
                if each.is_replaced_by(leadership.topic_id):
                    self._count_mismatch(each, leadership.topic_id)
                    continue
                by_leader.setdefault(leadership.leader, []).append(_Sent(each, leadership))
        return by_leader

    def _count_mismatch(self, wanted: _Range, topic_id: bytes) -> None:
        wanted.mismatches += 1
        if wanted.mismatches >= _TOPIC_ID_ATTEMPTS:
            replaced = replaced_text(wanted.partition.topic, wanted.request.topic_id, topic_id)
            raise TopicReplaced(replaced, wanted.partition)
        self._failure = f"the topic has id {uuid_to_text(topic_id)}"
        self._leaders.forget(wanted.partition)

    def _send_ahead(self, leader: HostPort) -> None:
        """Send the next request to a leader that has just responded, unless other ranges wait for a look-up."""
        if self._failure is not None:
            return
        batch = self._by_leader(self._unfinished).get(leader)
        if batch:
            self._send(leader, batch)

    def _send(self, leader: HostPort, batch: list[_Sent]) -> None:
        try:
            self._leaders.connection(leader).send(_request(batch))
        except (Disconnected, RequestTimedOut) as error:
            self._fail(leader, batch, error.message)
        else:
            self._in_flight[leader] = batch

    def _receive(self, leader: HostPort) -> list[_Fetched]:
        batch = self._in_flight.pop(leader)
        try:
            response: FetchResponse = self._leaders.connection(leader).receive()
        except (Disconnected, RequestTimedOut) as error:
            self._fail(leader, batch, error.message)
            return []
        if response.error_code in MOVED:
            self._fail(leader, batch, error_name(response.error_code))
            return []
        if response.error_code:
            raise Refused(f"{leader}: {error_name(response.error_code)}", response.error_code)
        received = _by_partition(response, batch)
        fetched = [self._take(each.range, received.get(each.range.partition)) for each in batch]
        self._unfinished = [each for each in self._unfinished if not each.is_done]
        return [each for each in fetched if each is not None]

    def _fail(self, leader: HostPort, batch: Iterable[_Sent], reason: str) -> None:
        self._failure = reason
        self._leaders.drop(leader)
        for each in batch:
            self._leaders.forget(each.range.partition)

    def _take(self, wanted: _Range, data: PartitionData | None) -> _Fetched | None:
        """Return None if the range has to be requested again. A throttled client gets no data, and has waited."""
        if data is None:
            return None
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            raise self._deleted(wanted)
        if data.error_code in MOVED:
            self._failure = error_name(data.error_code)
            self._leaders.forget(wanted.partition)
            return None
        if data.error_code:
            where = f"{wanted.partition} at offset {wanted.position}"
            raise Refused(f"{where}: {error_name(data.error_code)}", data.error_code)
        records, position = data.records or b"", wanted.position
        after = offset_after(records)
        if after is None:
            return None
        wanted.advance(after, len(records))
        return _Fetched(wanted, position, data)

    def _deleted(self, wanted: _Range) -> OffsetsDeleted:
        self.settle()
        partition, position = wanted.partition, wanted.position
        start = list_offsets(self._leaders, {partition: list_offsets_timestamps.EARLIEST})[partition]
        what = "is gone" if position < start else "is not there"
        return OffsetsDeleted(f"{partition}: offset {position} {what}; the log begins at {start}", partition, start)


def _request(batch: Sequence[_Sent]) -> FetchRequest:
    topics: dict[bytes | str, FetchTopic] = {}
    total = 0
    for wanted, leadership in batch:
        topic, partition = wanted.partition
        size = wanted.chunk_bytes()
        total += size
        fetched = topics.setdefault(topic, FetchTopic(topic=topic, topic_id=leadership.topic_id))
        fetched.partitions.append(
            FetchPartition(
                partition=partition,
                current_leader_epoch=leadership.leader_epoch,
                fetch_offset=wanted.position,
                partition_max_bytes=size,
            )
        )
    first = batch[0].range.request
    return FetchRequest(
        max_wait_ms=_WAIT_MS,
        min_bytes=1,
        max_bytes=min(total, first.chunk_bytes),
        isolation_level=int(first.is_read_committed),
        topics=list(topics.values()),
    )


def _by_partition(response: FetchResponse, batch: Sequence[_Sent]) -> dict[TopicPartition, PartitionData]:
    """Topics have a name in responses up to version 12, and an id from version 13 on."""
    names = {each.leadership.topic_id: each.range.partition.topic for each in batch}
    return {
        TopicPartition(topic.topic or names.get(topic.topic_id, ""), partition.partition_index): partition
        for topic in response.responses
        for partition in topic.partitions
    }
