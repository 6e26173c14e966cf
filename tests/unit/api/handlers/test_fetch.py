"""The response of a fetch that asks for a session carries its id."""

from types import SimpleNamespace
from typing import Any

from odradek.api.handlers.fetch import _FetchCall
from odradek.common.ids import TopicPartition
from odradek.replica.fetch_sessions import FetchSessions
from odradek.replica.requests import FetchEntry, FetchResult
from support.builders.logs import HandClock


def test_the_response_of_a_full_fetch_has_the_id_of_its_new_session() -> None:
    sessions = FetchSessions(10, HandClock(), lambda: 77)
    entry = FetchEntry(TopicPartition("orders", 0), b"t" * 16, 0, 1_000)
    session = sessions.open(0, 0, 13, False, [entry], [], lambda topic_id: "orders")
    context: Any = SimpleNamespace(
        api_version=13, replicas=SimpleNamespace(fetch=SimpleNamespace(read_records=lambda result: b""))
    )
    call = _FetchCall(context, session)
    call.respond([FetchResult(0)])
    assert call.response is not None and call.response.session_id == 77
