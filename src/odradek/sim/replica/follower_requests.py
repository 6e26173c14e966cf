"""Requests of followers at a simulated broker: the product's message mapping between a request and the replicas.

What a node adds to it, authorization and futures, is left out.
"""

from __future__ import annotations

from collections.abc import Callable

from odradek.api.shared.fetch_mapping import (
    fetch_entries,
    fetch_params,
    fetch_response,
    forgotten_partitions,
    replica_of,
)
from odradek.api.shared.list_offsets_mapping import (
    list_offsets_entries,
    list_offsets_isolation,
    list_offsets_response,
)
from odradek.metadata.leader_hints import LeaderHints
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import FetchResponse
from odradek.protocol.messages.list_offsets_request import ListOffsetsRequest
from odradek.protocol.messages.list_offsets_response import ListOffsetsResponse
from odradek.replica.broker_replicas import BrokerReplicas
from odradek.replica.requests import FetchResult

#: First version in which a follower reports the directory of its replica.
FETCH_VERSION = 17
LIST_OFFSETS_VERSION = 10

LISTENER = "PLAINTEXT"

#: `fetch.max.bytes`
_RESPONSE_BYTES_MAX = 55 * 1024 * 1024


def serve_fetch(replicas: BrokerReplicas, request: FetchRequest, reply: Callable[[FetchResponse], None]) -> None:
    """Serve a fetch; `reply` is called immediately or later."""

    def topic_name(topic_id: bytes) -> str | None:
        topic = replicas.view.image.topics.by_id.get(topic_id)
        return None if topic is None else topic.name

    session = replicas.fetch_sessions.open(
        request.session_id,
        request.session_epoch,
        FETCH_VERSION,
        replica_of(request, FETCH_VERSION)[0] >= 0,
        list(fetch_entries(request, FETCH_VERSION, topic_name)),
        forgotten_partitions(request, FETCH_VERSION),
        topic_name,
    )
    if session.error_code:
        reply(FetchResponse(error_code=session.error_code, session_id=session.session_id))
        return

    def respond(results: list[FetchResult]) -> None:
        answered = session.select(results)
        hints = LeaderHints(replicas.view.image, LISTENER, replicas.view.broker_id)
        reply(fetch_response(session.session_id, answered, replicas.fetch.read_records, hints))

    if session.entries:
        replicas.fetch.fetch(fetch_params(request, FETCH_VERSION, _RESPONSE_BYTES_MAX), session.entries, respond)
    else:
        respond([])


def serve_list_offsets(replicas: BrokerReplicas, request: ListOffsetsRequest) -> ListOffsetsResponse:
    entries = list_offsets_entries(request)
    results = replicas.offsets.list_offsets(entries, request.replica_id, list_offsets_isolation(request))
    return list_offsets_response(request, entries, results, LIST_OFFSETS_VERSION)
