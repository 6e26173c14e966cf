"""Commits and questions for them: tried again as long as that helps, and told what cannot be."""

import asyncio
from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.client.group.commits import Commits
from odradek.client.group.core import Identity
from odradek.client.net.backoff import Backoff
from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common.failures import ApiError, InputError
from odradek.errors import CommitFailed, Disconnected, Refused, RequestTimedOut
from odradek.protocol.codec import decode, encode
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.offset_commit_request import OffsetCommitRequest
from odradek.protocol.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.protocol.messages.offset_fetch_request import OffsetFetchRequest
from odradek.protocol.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

T0 = TopicPartition("t", 0)
ID = b"t" * 16
TIMEOUT_MS = 10_000

Answer = Callable[[Any, int], Message]


class Network:
    """A coordinator that answers as it is told, one answer after the other; the last one for ever."""

    def __init__(self, *answers: Answer | ApiError, version: int = 10, topic_id: bytes | None = ID) -> None:
        self._answers = list(answers)
        self._version = version
        self.settings = SimpleNamespace(request_timeout_ms=1_000)
        self.metadata = SimpleNamespace(topic_id=lambda name: topic_id)
        self.backoff = Backoff(1, 5)
        self.random = Random(0)
        self.sent: list[tuple[Any, int]] = []
        self.lookups = 0
        self.updates = 0

    async def coordinator(self, kind: CoordinatorKind, key: str, timeout_ms: float) -> int:
        assert (kind, key) == (CoordinatorKind.GROUP, "g")
        return 7

    async def ready(self, node_id: int, timeout_ms: float) -> bool:
        return True

    def version(self, node_id: int, kind: type[Message]) -> int:
        return self._version

    def forget_coordinator(self, kind: CoordinatorKind, key: str) -> None:
        self.lookups += 1

    def request_update(self) -> None:
        self.updates += 1

    async def send(self, node_id: int, request: Message, timeout_ms: float, *, version: int) -> Message:
        """Through the codec, so that only what the version has arrives."""
        self.sent.append((decode(type(request), version, encode(request, version)), version))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, ApiError):
            raise answer
        response = answer(*self.sent[-1])
        return decode(type(response), version, encode(response, version))


def committing(code: int = 0) -> Answer:
    def answer(request: OffsetCommitRequest, version: int) -> OffsetCommitResponse:
        topic = request.topics[0]
        partitions = [OffsetCommitResponsePartition(partition_index=0, error_code=code)]
        return OffsetCommitResponse(
            topics=[OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions)]
        )

    return answer


def fetching(offset: int, code: int = 0, group_code: int = 0) -> Answer:
    def answer(request: OffsetFetchRequest, version: int) -> OffsetFetchResponse:
        topic = request.groups[0].topics[0]  # type: ignore[index]
        partition = OffsetFetchResponsePartitions(
            partition_index=0, committed_offset=offset, committed_leader_epoch=3, metadata="note", error_code=code
        )
        topics = [OffsetFetchResponseTopics(name=topic.name, topic_id=topic.topic_id, partitions=[partition])]
        return OffsetFetchResponse(
            groups=[OffsetFetchResponseGroup(group_id="g", topics=topics, error_code=group_code)]
        )

    return answer


def refused(code: int, sent: Identity) -> ApiError:
    return CommitFailed(f"{code} for {sent.generation_id}")


def commit(
    network: Any,
    *identities: Identity,
    timeout_ms: float = TIMEOUT_MS,
    offset: int = 5,
    is_repeated: bool = True,
) -> None:
    left = list(identities) or [Identity("m", 4)]
    asyncio.run(
        Commits(network, "g", "i").commit(
            {T0: OffsetAndMetadata(offset, 3, "note")},
            timeout_ms,
            lambda: left.pop(0) if len(left) > 1 else left[0],
            refused,
            is_repeated=is_repeated,
        )
    )


def committed(network: Any, identity: Identity | None = None, timeout_ms: float = TIMEOUT_MS) -> Any:
    return asyncio.run(Commits(network, "g", None).committed([T0], timeout_ms, lambda: identity))


def test_a_commit_says_who_commits_and_names_topics_by_their_ids() -> None:
    network = Network(committing())
    commit(network)
    request, version = network.sent[0]
    topic = request.topics[0]
    assert version == 10 and topic.topic_id == ID and topic.name == ""
    assert (request.member_id, request.generation_id_or_member_epoch, request.group_instance_id) == ("m", 4, "i")
    one = topic.partitions[0]
    assert (one.committed_offset, one.committed_leader_epoch, one.committed_metadata) == (5, 3, "note")


def test_topics_without_a_known_id_are_named() -> None:
    network = Network(committing(), topic_id=None)
    commit(network)
    request, version = network.sent[0]
    assert version == 9 and request.topics[0].name == "t"


def test_who_is_no_member_says_nothing_of_itself() -> None:
    network = Network(committing())
    commit(network, Identity())
    request, _ = network.sent[0]
    assert (request.member_id, request.generation_id_or_member_epoch, request.group_instance_id) == ("", -1, None)


@pytest.mark.parametrize(
    ("first", "lookups", "updates"),
    [
        (committing(ErrorCode.NOT_COORDINATOR), 1, 0),
        (committing(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), 0, 0),
        (committing(ErrorCode.UNKNOWN_TOPIC_ID), 0, 1),
        (Disconnected("gone"), 1, 0),
        (RequestTimedOut("late"), 1, 0),
    ],
)
def test_what_may_be_tried_again_is(first: Answer | ApiError, lookups: int, updates: int) -> None:
    network = Network(first, committing())
    commit(network)
    assert (len(network.sent), network.lookups, network.updates) == (2, lookups, updates)


def test_what_is_not_to_be_repeated_cannot_undo_a_later_commit() -> None:
    network = Network(committing(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), committing())
    with pytest.raises(RequestTimedOut, match="group g: t-0: COORDINATOR_LOAD_IN_PROGRESS"):
        commit(network, is_repeated=False)
    assert len(network.sent) == 1


def test_an_epoch_that_has_moved_on_is_used() -> None:
    network = Network(committing(ErrorCode.STALE_MEMBER_EPOCH), committing())
    commit(network, Identity("m", 4), Identity("m", 5))
    assert [request.generation_id_or_member_epoch for request, _ in network.sent] == [4, 5]


def test_what_the_member_decides_about_is_its_to_say() -> None:
    with pytest.raises(CommitFailed, match="22 for 4"):
        commit(Network(committing(ErrorCode.ILLEGAL_GENERATION)))


def test_an_end_to_trying_says_what_was_the_matter() -> None:
    with pytest.raises(RequestTimedOut, match="group g: not done within 20 ms: t-0: COORDINATOR_LOAD_IN_PROGRESS"):
        commit(Network(committing(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)), timeout_ms=20)


def test_an_offset_below_zero_is_no_offset() -> None:
    with pytest.raises(InputError, match="t-0: -1 is not a valid offset"):
        commit(Network(committing()), offset=-1)


def test_committed_offsets_come_back_as_they_were_committed() -> None:
    network = Network(fetching(5))
    assert committed(network, Identity("m", 4)) == {T0: OffsetAndMetadata(5, 3, "note")}
    request, version = network.sent[0]
    group = request.groups[0]
    assert version == 10 and request.require_stable and (group.member_id, group.member_epoch) == ("m", 4)
    assert committed(Network(fetching(-1))) == {T0: None}


def test_offsets_of_an_open_transaction_are_waited_for() -> None:
    network = Network(fetching(-1, code=ErrorCode.UNSTABLE_OFFSET_COMMIT), fetching(5))
    assert committed(network) == {T0: OffsetAndMetadata(5, 3, "note")}


def test_a_group_that_may_not_be_read_is_told() -> None:
    with pytest.raises(Refused, match="GROUP_AUTHORIZATION_FAILED: group g cannot be asked for"):
        committed(Network(fetching(0, group_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)))
