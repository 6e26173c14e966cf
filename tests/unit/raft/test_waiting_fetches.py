"""Fetches that wait at the leader."""

from odradek.protocol.messages.fetch_response import FetchResponse
from odradek.raft.events import Request
from odradek.raft.values import NEVER_MS, OffsetAndEpoch
from odradek.raft.waiting_fetches import WaitingFetch, WaitingFetches
from support.builders.raft import LISTENER, fetch, key


def waiting_fetch(replica_id: int, offset: int, deadline_ms: int) -> WaitingFetch:
    message = fetch(replica_id, 1, OffsetAndEpoch(1, offset))
    partition = message.topics[0].partitions[0]
    request = Request(replica_id, message, 18, LISTENER)
    return WaitingFetch(request, key(replica_id), partition, 1_000, deadline_ms, FetchResponse())


def test_fetches_are_taken_by_deadline_or_by_offset() -> None:
    first, second, third = waiting_fetch(2, 5, 100), waiting_fetch(3, 7, 200), waiting_fetch(4, 9, 300)
    waiting = WaitingFetches()
    assert waiting.deadline_ms == NEVER_MS
    for entry in (first, second, third):
        waiting.add(entry)
    assert waiting.deadline_ms == 100
    assert waiting.take_expired(99) == []
    assert waiting.take_expired(100) == [first]
    assert waiting.take_before(8) == [second]
    assert len(waiting) == 1
    assert waiting.take_all() == [third]
    assert len(waiting) == 0 and waiting.deadline_ms == NEVER_MS
