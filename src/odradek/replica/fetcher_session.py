"""The reading side of an incremental fetch session (KIP-227): what to say in the next request.

The session remembers what the source was last told of each partition. A request names those that are new or differ,
and those to forget. Whenever the two sides may disagree (an error, a lost connection) the next request says everything,
and asks the source to close what it has.
"""

from __future__ import annotations

from typing import NamedTuple

from odradek.common.ids import TopicPartition
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_response import FetchResponse
from odradek.replica.fetch_session import INITIAL_EPOCH, NO_SESSION, next_epoch


class Wanted(NamedTuple):
    """How one partition is to be read."""

    topic_id: bytes
    fetch_offset: int
    log_start_offset: int
    leader_epoch: int
    last_fetched_epoch: int


class SessionRequest(NamedTuple):
    session_id: int
    session_epoch: int
    to_send: dict[TopicPartition, Wanted]
    to_forget: list[tuple[bytes, int]]


class FetcherSession:
    __slots__ = ("_epoch", "_id", "partitions")

    def __init__(self) -> None:
        self._id = NO_SESSION
        self._epoch = INITIAL_EPOCH
        #: What the source is to read, once it has the latest request.
        self.partitions: dict[TopicPartition, Wanted] = {}

    @property
    def is_incremental(self) -> bool:
        return self._epoch != INITIAL_EPOCH

    def build(self, wanted: dict[TopicPartition, Wanted]) -> SessionRequest:
        """The next request, to read these and no others."""
        if not self.is_incremental:
            self.partitions = wanted
            return SessionRequest(self._id, self._epoch, wanted, [])
        known = self.partitions
        to_send = {tp: want for tp, want in wanted.items() if known.get(tp) != want}
        to_forget = [
            (before.topic_id, tp.partition)
            for tp, before in known.items()
            if tp not in wanted or wanted[tp].topic_id != before.topic_id
        ]
        self.partitions = wanted
        return SessionRequest(self._id, self._epoch, to_send, to_forget)

    def handle_response(self, response: FetchResponse) -> bool:
        """Whether its partitions may be used."""
        if response.error_code != ErrorCode.NONE:
            if response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self._id = NO_SESSION
            self._epoch = INITIAL_EPOCH
            return False
        if response.session_id == NO_SESSION:
            self._id, self._epoch = NO_SESSION, INITIAL_EPOCH
        else:
            self._epoch = next_epoch(self._epoch) if self.is_incremental else 1
            self._id = response.session_id
        return True

    def handle_failure(self) -> None:
        """Nobody knows what the source has understood: say everything, and close what it may have."""
        self._epoch = INITIAL_EPOCH
