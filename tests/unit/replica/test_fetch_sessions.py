"""Incremental fetch sessions, as KIP-227 and KIP-516 have them."""

from itertools import count

import pytest

from odradek.common.ids import ZERO_UUID, TopicPartition
from odradek.common.ports import File
from odradek.log.offsets import FileRange, OffsetMetadata
from odradek.log.values import EpochEndOffset, LogRead
from odradek.protocol.error_codes import ErrorCode
from odradek.replica.fetch_sessions import (
    MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS,
    FetchContext,
    FetchSessions,
    next_epoch,
    session_key,
)
from odradek.replica.requests import FetchEntry, FetchResult
from support.builders.logs import HandClock

ID = b"a" * 16
VERSION = 17


class NoFile:
    path = "nowhere"


def entry(number: int = 0, offset: int = 0, topic_id: bytes = ID, topic: str = "topic") -> FetchEntry:
    return FetchEntry(TopicPartition(topic, number), topic_id, offset, 1 << 20)


def result(high_watermark: int = 5, size: int = 0, **fields: object) -> FetchResult:
    file: File = NoFile()  # type: ignore[assignment]
    found = LogRead(OffsetMetadata(0), FileRange(file, 0, size) if size else None)
    return FetchResult(0, high_watermark, 5, 0, found)._replace(**fields)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def sessions(clock: HandClock) -> FetchSessions:
    ids = count(1)
    return FetchSessions(2, clock, lambda: next(ids))


def open_(
    sessions: FetchSessions,
    session_id: int,
    epoch: int,
    *entries: FetchEntry,
    forget: tuple[FetchEntry, ...] = (),
    version: int = VERSION,
    is_follower: bool = False,
    name: str | None = None,
) -> FetchContext:
    forgotten = [session_key(gone) for gone in forget]
    return sessions.open(session_id, epoch, version, is_follower, entries, forgotten, lambda _: name)


def begin(sessions: FetchSessions, *entries: FetchEntry, is_follower: bool = False, **fields: int) -> int:
    context = open_(sessions, 0, 0, *entries, is_follower=is_follower, **fields)
    context.select([result() for _ in context.entries])
    return context.session_id


def test_a_full_fetch_makes_a_session_and_is_answered_in_full(sessions: FetchSessions) -> None:
    context = open_(sessions, 0, 0, entry(0), entry(1))
    answered = context.select([result(), result()])
    assert context.session_id == 1 and [found.entry for found in answered] == [entry(0), entry(1)]


def test_an_incremental_fetch_reads_everything_and_is_answered_with_what_is_new(sessions: FetchSessions) -> None:
    session_id = begin(sessions, entry(0), entry(1), entry(2))
    context = open_(sessions, session_id, 1, entry(1, offset=7))
    assert list(context.entries) == [entry(0), entry(1, offset=7), entry(2)]
    answered = context.select([result(), result(size=10), result(high_watermark=9)])
    assert [found.entry for found in answered] == [entry(1, offset=7), entry(2)]
    assert context.session_id == session_id
    assert list(open_(sessions, session_id, 2).entries)[-1] == entry(1, offset=7), "who got records goes to the end"


@pytest.mark.parametrize(
    "news",
    [
        result(log_start_offset=3),
        result(preferred_read_replica=2),
        result(error_code=6),
        result(diverging_epoch=EpochEndOffset(1, 2)),
    ],
)
def test_what_is_news(sessions: FetchSessions, news: FetchResult) -> None:
    session_id = begin(sessions, entry())
    assert not open_(sessions, session_id, 1).select([result()])
    assert open_(sessions, session_id, 2).select([news])


def test_after_an_error_the_high_watermark_is_told_again(sessions: FetchSessions) -> None:
    session_id = begin(sessions, entry())
    open_(sessions, session_id, 1).select([result(error_code=6)])
    assert open_(sessions, session_id, 2).select([result()])
    assert not open_(sessions, session_id, 3).select([result()])


def test_forgotten_partitions_and_the_end_of_a_session(sessions: FetchSessions) -> None:
    session_id = begin(sessions, entry(0), entry(1))
    assert list(open_(sessions, session_id, 1, forget=(entry(0),)).entries) == [entry(1)]
    context = open_(sessions, session_id, 2, forget=(entry(1),))
    assert context.session_id == 0 and not sessions.sessions


@pytest.mark.parametrize(
    ("session_id", "epoch", "version", "error"),
    [
        (9, 1, VERSION, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (1, 2, VERSION, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (1, 1, 12, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
    ],
)
def test_errors(sessions: FetchSessions, session_id: int, epoch: int, version: int, error: int) -> None:
    begin(sessions, entry())
    context = open_(sessions, session_id, epoch, version=version)
    assert (context.error_code, list(context.entries)) == (error, [])


def test_a_session_of_names_cannot_go_on_with_ids(sessions: FetchSessions) -> None:
    named = entry(topic_id=ZERO_UUID)
    context = open_(sessions, 0, 0, named, version=12)
    context.select([result()])
    assert open_(sessions, 1, 1, version=13).error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_final_fetch_closes_its_session(sessions: FetchSessions) -> None:
    session_id = begin(sessions, entry())
    context = open_(sessions, session_id, -1, entry())
    assert context.select([result()]) and context.session_id == 0 and not sessions.sessions


def test_a_name_that_was_unknown_is_found_later(sessions: FetchSessions) -> None:
    session_id = begin(sessions, entry(topic=""))
    assert next(iter(open_(sessions, session_id, 1).entries)).topic_partition.topic == ""
    assert next(iter(open_(sessions, session_id, 2, name="topic").entries)) == entry()


class TestNoRoom:
    def test_consumers_do_not_push_each_other_out(self, sessions: FetchSessions) -> None:
        begin(sessions, entry(0))
        begin(sessions, entry(1))
        assert begin(sessions, entry(2)) == 0

    def test_a_follower_pushes_out_a_consumer(self, sessions: FetchSessions) -> None:
        begin(sessions, entry(0), entry(1))
        begin(sessions, entry(2))
        third = begin(sessions, entry(3), is_follower=True)
        assert third and list(sessions.sessions) == [1, third] and sessions.evictions == 1

    def test_one_that_was_not_used_for_long_goes_first(self, sessions: FetchSessions, clock: HandClock) -> None:
        begin(sessions, entry(0), is_follower=True)
        clock.now_ms += MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS + 1
        second = begin(sessions, entry(1))
        third = begin(sessions, entry(2))
        assert list(sessions.sessions) == [second, third]

    def test_an_old_one_goes_for_a_larger_one(self, sessions: FetchSessions, clock: HandClock) -> None:
        begin(sessions, entry(0))
        begin(sessions, entry(1))
        clock.now_ms += MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS + 1
        open_(sessions, 1, 1)
        open_(sessions, 2, 1)
        third = begin(sessions, entry(2), entry(3))
        assert list(sessions.sessions) == [2, third]
        assert begin(sessions, entry(4), is_follower=True)


def test_epochs_begin_anew_after_the_last_one() -> None:
    assert [next_epoch(epoch) for epoch in (-1, 0, 1, 2**31 - 1)] == [-1, 1, 2, 1]
