"""Fetch (key 1) on a broker: records for consumers, and for followers, who report their progress by it.

v4 isolation levels (KIP-98) · v5 log start offset · v7 sessions (KIP-227) · v9 leader epochs (KIP-320) · v11 rack and
preferred replica (KIP-392) · v12 flexible, diverging epochs (KIP-595) · v13 topic ids (KIP-516) · v15 the follower's
epoch (KIP-903) · v16 where the leader is (KIP-951) · v17 directory ids (KIP-853) · v18 the reader's high watermark
(KIP-1166)

Records are read from the file when the answer is made, a range each, and not looked into but for damage. A fetch that
finds too little waits in the purgatory, and is forgotten when its connection goes.

Authorised by READ on each topic, or CLUSTER_ACTION on the cluster for a follower.
"""

import asyncio
from collections.abc import Container, Sequence

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.registry import Answer
from odradek.api.shared.fetch_mapping import (
    FIRST_VERSION_WITH_LEADER,
    NO_NAME,
    fetch_entries,
    fetch_params,
    fetch_response,
    forgotten_partitions,
    replica_of,
)
from odradek.api.shared.refusals import only_allowed, with_refused
from odradek.metadata.leader_hints import LeaderHints
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import FetchResponse
from odradek.replica.fetch_sessions import FetchContext
from odradek.replica.requests import FetchCallback, FetchEntry, FetchResult
from odradek.security.authorizer import ALLOW_ALL, EVERYTHING
from odradek.security.resources import CLUSTER, Operation, ResourceType

_NOT_AUTHORIZED = FetchResult(ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def handle(ctx: Context, request: FetchRequest) -> "Answer | asyncio.Future[Answer]":
    version = ctx.api_version
    is_follower = replica_of(request, version)[0] >= 0
    session = ctx.replicas.fetch_sessions.open(
        request.session_id,
        request.session_epoch,
        version,
        is_follower,
        list(fetch_entries(request, version, ctx.topic_name)),
        forgotten_partitions(request, version),
        ctx.topic_name,
    )
    if session.error_code:
        return FetchResponse(error_code=session.error_code, session_id=session.session_id)
    call = _FetchCall(ctx, session)
    entries: Sequence[FetchEntry] = session.entries
    respond: FetchCallback = call.respond
    if ctx.services.authorizer is not ALLOW_ALL:
        entries, respond = _authorized(ctx, entries, respond, is_follower=is_follower)
    if not entries:
        respond([])
    else:
        ctx.replicas.fetch.fetch(fetch_params(request, version, ctx.services.fetch_max_bytes), entries, respond)
    if call.response is not None:
        return call.response
    call.later = asyncio.get_running_loop().create_future()
    ctx.services.began_to_wait()
    return call.later


def _authorized(
    ctx: Context, entries: Sequence[FetchEntry], respond: FetchCallback, *, is_follower: bool
) -> tuple[Sequence[FetchEntry], FetchCallback]:
    """Return the entries that may be read, and a callback that responds for all of them. An unknown topic id is not
    subject to authorization for consumers: they get UNKNOWN_TOPIC_ID."""
    if is_follower:
        allowed: Container[str] = EVERYTHING if ctx.may(Operation.CLUSTER_ACTION, CLUSTER) else ()
    else:
        names = {entry.topic_partition.topic for entry in entries if entry.topic_partition.topic}
        allowed_names = ctx.allowed(Operation.READ, ResourceType.TOPIC, names)
        allowed = {NO_NAME, *(name for name in names if name in allowed_names)}
    return only_allowed(entries, allowed), lambda results: respond(
        list(with_refused(entries, allowed, results, _NOT_AUTHORIZED))
    )


class _FetchCall:
    """One fetch, whose response is built at once or when its purgatory completes it."""

    __slots__ = ("_ctx", "_session", "later", "response")

    def __init__(self, ctx: Context, session: FetchContext) -> None:
        self._ctx = ctx
        self._session = session
        self.response: FetchResponse | None = None
        self.later: asyncio.Future[Answer] | None = None

    def respond(self, results: list[FetchResult]) -> None:
        if self.later is not None and self.later.done():
            return  # the connection is closed
        ctx, session, hints = self._ctx, self._session, None
        if ctx.api_version >= FIRST_VERSION_WITH_LEADER:
            hints = LeaderHints(ctx.services.image(), ctx.listener_name, ctx.services.node_id)
        selected = session.select(results)  # before `session_id` is read: it creates the session
        self.response = fetch_response(session.session_id, selected, ctx.replicas.fetch.read_records, hints)
        if self.later is not None:
            self.later.set_result(self.response)
