"""Hands out what was fetched, and answers errors of single partitions. Pure.

The oldest chunk is handed out until it is empty, then the next. What belongs to a position that was left meanwhile (a
seek, a partition that was given up) is dropped; what belongs to a paused partition waits. An error counts only once the
position has come to it, since a fetch runs ahead of what was handed out: then it resets the position, or is raised.
"""

from typing import NamedTuple

from odradek.client.consumer.completed_fetch import CompletedFetch
from odradek.client.consumer.fetch_buffer import FetchBuffer
from odradek.client.consumer.partition_state import FetchPosition, PartitionState
from odradek.client.consumer.record import ConsumerRecord
from odradek.client.consumer.subscriptions import Subscriptions
from odradek.client.settings.settings import ResetStrategy
from odradek.common.failures import ApiError
from odradek.errors import FetchFailed, OffsetOutOfRange, TopicAuthorizationFailed
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.messages.fetch_response import PartitionData


class Taken(NamedTuple):
    """Records of one partition, and the position behind the last of them. `before` is the one in front of the first."""

    fetch: CompletedFetch
    rows: list[ConsumerRecord]
    before: FetchPosition
    after: FetchPosition


class FetchCollector:
    def __init__(self, subscriptions: Subscriptions, buffer: FetchBuffer) -> None:
        self._subscriptions = subscriptions
        self._buffer = buffer
        #: A chunk was handed out to its end, or dropped: more may be fetched.
        self.has_room = False

    def take(self, limit: int) -> Taken | None:
        """Records of the oldest chunk; None if there is nothing to hand out. The position is not advanced.

        Raises what the application has to answer; see `odradek.errors`."""
        while (fetch := self.next()) is not None:
            previous = self._position(fetch)
            rows = fetch.take(limit)
            next_position = FetchPosition(fetch.next_offset, fetch.last_epoch, previous.leader)
            if rows:
                return Taken(fetch, rows, previous, next_position)
            fetch.state.advance(next_position)
        return None

    def collect(self, limit: int) -> list[ConsumerRecord]:
        """Return available records of all partitions, up to the limit, and move the positions behind them.

        An error behind some records is raised the next time."""
        rows: list[ConsumerRecord] = []
        while len(rows) < limit and not (rows and self._meets_an_error()):
            try:
                run = self.take(limit - len(rows))
            except ApiError:
                if rows:
                    break
                raise
            if run is None:
                break
            run.fetch.state.advance(run.after)
            rows = rows + run.rows if rows else run.rows
        return rows

    def next(self) -> CompletedFetch | None:
        """The oldest chunk with something in it that may be handed out now."""
        for fetch in self._buffer:
            if self._is_useless(fetch):
                self._remove(fetch)
            elif self._subscriptions.is_fetchable(fetch.partition) and self._initialize(fetch):
                return fetch
        return None

    def _meets_an_error(self) -> bool:
        """Return whether the next item is an error."""
        for fetch in self._buffer:
            if not self._is_useless(fetch) and self._subscriptions.is_fetchable(fetch.partition):
                return fetch.data.error_code != 0
        return False

    def _is_useless(self, fetch: CompletedFetch) -> bool:
        is_ours = self._subscriptions.state(fetch.partition) is fetch.state
        return not is_ours or fetch.is_stale or (fetch.is_initialized and fetch.is_drained)

    def _remove(self, fetch: CompletedFetch) -> None:
        self._buffer.remove(fetch)
        if fetch.size_bytes:
            self._subscriptions.move_to_end(fetch.partition)
        self.has_room = True

    def _position(self, fetch: CompletedFetch) -> FetchPosition:
        position = fetch.state.position
        assert position is not None, "a fetchable partition has a position"
        return position

    def _initialize(self, fetch: CompletedFetch) -> bool:
        """A first look at a chunk once the position has come to it. Whether there is something to hand out."""
        if fetch.is_initialized:
            return True
        if fetch.data.error_code:
            self._remove(fetch)
            self._answer_error(fetch)
            return False
        if fetch.has_no_whole_batch:
            self._remove(fetch)
            reason = "the response has part of a batch and no whole one"
            raise FetchFailed(fetch.partition, fetch.next_offset, reason, ErrorCode.CORRUPT_MESSAGE)
        fetch.is_initialized = True
        note_ends(fetch.state, fetch.data)
        return True

    def _answer_error(self, fetch: CompletedFetch) -> None:
        """Those that a new look at the metadata may help against have been answered when they came."""
        code, partition = fetch.data.error_code, fetch.partition
        self._subscriptions.move_to_end(partition)
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            if fetch.state.preferred_read_replica is not None:  # a follower may be behind; the leader knows
                fetch.state.preferred_read_replica = None
            elif self._subscriptions.reset.strategy is ResetStrategy.NONE:
                raise OffsetOutOfRange(partition, fetch.next_offset)
            else:
                self._subscriptions.request_reset(partition)
        elif code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise TopicAuthorizationFailed((partition.topic,))
        else:
            raise FetchFailed(partition, fetch.next_offset, error_name(code), code)


def note_ends(state: PartitionState, data: PartitionData) -> None:
    """Store the log's offsets of a response; the lag is computed from them."""
    if data.high_watermark >= 0:
        state.high_watermark = data.high_watermark
    if data.log_start_offset >= 0:
        state.log_start_offset = data.log_start_offset
    if data.last_stable_offset >= 0:
        state.last_stable_offset = data.last_stable_offset
