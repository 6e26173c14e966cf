"""Everything between two offsets of a partition, chunk by chunk, as columns.

While a chunk is decoded the next one is under way: where it begins can be told from the headers of the batches alone.
A leader that refuses or disappears is looked up again, and reading goes on where it was. Offsets that compaction or
transactions left out are simply not there; offsets that are gone from the front of the log are `DataLost`.
"""

import time
from collections.abc import Generator
from dataclasses import dataclass

from odradek.client.direct.leaders import Leaders, Leadership
from odradek.client.direct.offsets import MOVED, list_offsets
from odradek.client.errors import Disconnected, NoLeader, Refused, RequestTimedOut, Unreachable
from odradek.common import special_timestamps
from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.fetch_response import FetchResponse, PartitionData
from odradek.records.aborted import AbortedTransaction
from odradek.records.batch import offset_after
from odradek.records.columns import Columns, read_columns

#: One request's worth, and one of Arrow's batches in Spark: what each of those costs, here and in the JVM, vanishes,
#: and memory of the chunk before is used again. Twice as much is slower, and so is a quarter.
_CHUNK_BYTES = 8 * 1024 * 1024

#: Towards the end of a range no more is asked for than is likely to be needed: what lies behind it would be thrown
#: away. Until a chunk has told how large its records are, they are taken to be of a kilobyte.
_CHUNK_BYTES_MIN = 256 * 1024
_RECORD_BYTES_GUESS = 1024
_SLACK = 1.1

#: How long a leader may wait for data. There is some up to the end of the range, so that it hardly ever does.
_WAIT_MS = 500

#: Between two attempts at a leader: retry.backoff.ms.
_RETRY_S = 0.1


class DataLost(ApiError):
    """Offsets that were to be read are not there any more."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE

    def __init__(self, message: str, log_start_offset: int) -> None:
        super().__init__(message)
        self.log_start_offset = log_start_offset


@dataclass(frozen=True, slots=True)
class RangeRequest:
    partition: TopicPartition
    start: int
    end: int
    is_read_committed: bool = False
    #: Without progress for so long, reading gives up.
    timeout_ms: int = 120_000
    chunk_bytes: int = _CHUNK_BYTES
    check_crcs: bool = True


def read_range(leaders: Leaders, request: RangeRequest) -> Generator[Columns, None, None]:
    """Columns of at least one record each. Raises DataLost, and RequestTimedOut with the last reason.

    Who does not read to the end closes it, so that the connections are fit for the next reader."""
    position, reader = request.start, _Reader(leaders, request)
    try:
        while position < request.end:
            data, after = reader.fetch(position)
            columns = _columns(request, data, position)
            position = after
            if len(columns):
                yield columns
    finally:
        reader.settle()


class _Reader:
    """Fetches, and keeps one fetch ahead."""

    def __init__(self, leaders: Leaders, request: RangeRequest) -> None:
        self._leaders = leaders
        self._request = request
        self._ahead: Leadership | None = None  # who has been asked for the next chunk already
        self._record_bytes: float = _RECORD_BYTES_GUESS

    def fetch(self, position: int) -> tuple[PartitionData, int]:
        """What lies at the position, and where the next chunk begins, which is under way when this returns."""
        deadline_s = time.monotonic() + self._request.timeout_ms / 1000
        reason = "no data came"
        while time.monotonic() < deadline_s:
            try:
                data = self._ask(position)
            except (Disconnected, RequestTimedOut, NoLeader, Unreachable) as error:
                reason = error.message
            else:
                reason = error_name(data.error_code) if data.error_code else reason
                after = self._next_position(data, position)
                if after is not None:
                    return data, after
                if not data.error_code:
                    continue  # it waited already
            self._leaders.forget(self._request.partition)
            self._ahead = None
            time.sleep(_RETRY_S)
        where = f"{self._request.partition} at offset {position}"
        raise RequestTimedOut(f"{where}: nothing read for {self._request.timeout_ms} ms ({reason})")

    def settle(self) -> None:
        """An answer that nobody wants any more must not meet the next reader of the connection."""
        if self._ahead is not None:
            self._leaders.drop(self._ahead.leader)

    def _ask(self, position: int) -> PartitionData:
        leadership, self._ahead = self._ahead, None
        if leadership is None:
            leadership = self._leaders.of(self._request.partition)
            self._send(leadership, position)
        response: FetchResponse = self._leaders.connection(leadership.leader).receive()
        if response.error_code or not response.responses:  # one that is over its quota is told nothing, and waits
            return PartitionData(error_code=response.error_code)
        return response.responses[0].partitions[0]

    def _send(self, leadership: Leadership, position: int) -> None:
        wanted, chunk_bytes = self._request, self._chunk_bytes(position)
        topic, partition = wanted.partition
        request = FetchRequest(
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=chunk_bytes,
            isolation_level=int(wanted.is_read_committed),
            topics=[
                FetchTopic(
                    topic=topic,
                    topic_id=leadership.topic_id,
                    partitions=[
                        FetchPartition(
                            partition=partition,
                            current_leader_epoch=leadership.leader_epoch,
                            fetch_offset=position,
                            partition_max_bytes=chunk_bytes,
                        )
                    ],
                )
            ],
        )
        self._leaders.connection(leadership.leader).send(request)

    def _chunk_bytes(self, position: int) -> int:
        likely = int((self._request.end - position) * self._record_bytes * _SLACK)
        return min(self._request.chunk_bytes, max(_CHUNK_BYTES_MIN, likely))

    def _next_position(self, data: PartitionData, position: int) -> int | None:
        """None if the leader has to be asked again."""
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            partition = self._request.partition
            start = list_offsets(self._leaders, {partition: special_timestamps.EARLIEST})[partition]
            what = "is gone" if position < start else "is not there"
            raise DataLost(f"{self._request.partition}: offset {position} {what}; the log begins at {start}", start)
        if data.error_code in MOVED:
            return None
        if data.error_code:
            where = f"{self._request.partition} at offset {position}"
            raise Refused(f"{where}: {error_name(data.error_code)}", data.error_code)
        records = data.records or b""
        after = offset_after(records)
        if after is None:
            return None
        self._record_bytes = len(records) / max(1, after - position)
        if after < self._request.end:
            self._ask_ahead(after)
        return after

    def _ask_ahead(self, position: int) -> None:
        leadership = self._leaders.of(self._request.partition)
        try:
            self._send(leadership, position)
        except (Disconnected, RequestTimedOut):  # the next fetch will say so, or find another leader
            self._leaders.forget(self._request.partition)
        else:
            self._ahead = leadership


def _columns(request: RangeRequest, data: PartitionData, position: int) -> Columns:
    aborted = [
        AbortedTransaction(each.producer_id, each.first_offset)
        for each in (data.aborted_transactions or () if request.is_read_committed else ())
    ]
    columns = read_columns(data.records or b"", from_offset=position, aborted=aborted, check=request.check_crcs)
    return columns.before(request.end)
