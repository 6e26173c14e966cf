"""Sends typed requests to a cluster over several connections, many at a time, and sees that each has its end.

A request ends with its answer, which must be one that the schema allows, or with the end of its connection. What had
been sent behind the one that ended a connection is sent again on the next. `Unanswered` is raised when a request has
neither in time, `Ended` when a node cannot be reached any more; both name the requests that were under way, as JSON.
"""

import asyncio
import json
import socket
import struct
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any, cast

from odradek.common.failures import ProtocolError
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.codec import decode, schema_of
from odradek.protocol.message import Message
from odradek.protocol.registry import response_class
from odradek.protocol.requests import response_header_version
from support.fuzzing.typed_requests import TypedRequest, TypedRequests, Vocabulary
from support.processes.nodes import Cluster

#: Requests under way on one connection.
DEPTH = 8
#: To each listener of each node.
CONNECTIONS = 2
#: Of so many connections the least busy one gets the next request.
CHOICES = 3
#: The longest wait that a request may ask for is a fraction of a second; the rest is for a busy machine.
ANSWER_S = 120
#: Kept of each connection, to be shown when a node has stopped.
RECENT = 24
#: Producer ids and members that later requests may use.
_LEARNED_MAX = 12

_LENGTH = struct.Struct(">i")


class Unanswered(AssertionError):
    """A request was neither answered nor refused."""


class Ended(AssertionError):
    """A node is gone."""


class Outcome:
    """What became of the requests."""

    def __init__(self) -> None:
        self.answered: Counter[str] = Counter()
        self.closed: Counter[str] = Counter()
        self.without_answer = 0
        #: By name of the API, number of the code: how many answers had it.
        self.codes: Counter[tuple[str, int]] = Counter()
        self.kinds: set[tuple[ListenerRole, int, int]] = set()


class Link:
    """One connection, made again whenever it ends."""

    def __init__(
        self, port: int, node_id: int, outcome: Outcome, learn: Callable[[TypedRequest, Message], None]
    ) -> None:
        self.node_id = node_id
        self.recent: deque[TypedRequest] = deque(maxlen=RECENT)
        self._port = port
        self._outcome = outcome
        self._learn = learn
        self._pending: deque[tuple[int, TypedRequest]] = deque()
        #: What the end of the last connection left unanswered.
        self._again: deque[TypedRequest] = deque()
        self._queue: asyncio.Queue[TypedRequest] = asyncio.Queue(DEPTH)
        self._room = asyncio.Semaphore(DEPTH)
        self._correlation_id = 0
        self._head_since_s = 0.0

    async def put(self, request: TypedRequest) -> None:
        await self._queue.put(request)

    def backlog(self) -> int:
        return self._queue.qsize()

    async def run(self) -> None:
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            except OSError as error:
                raise Ended(f"node {self.node_id} cannot be reached: {error}\n{self.explain()}") from error
            try:
                await self._talk(reader, writer)
            finally:
                writer.close()

    async def drain(self) -> None:
        await self._queue.join()

    def explain(self) -> str:
        return "\n".join(json.dumps(request.json()) for request in self.recent)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until the connection ends."""
        sending = asyncio.ensure_future(self._send(writer))
        try:
            await self._receive(reader)
        except (OSError, EOFError):
            pass
        finally:
            sending.cancel()
            with suppress(asyncio.CancelledError, OSError):
                await sending
        left = [request for _, request in self._pending]
        self._pending.clear()
        if left:
            self._end(left[0], self._outcome.closed)
        self._again.extendleft(reversed(left[1:]))

    async def _send(self, writer: asyncio.StreamWriter) -> None:
        while self._again:
            await self._write(writer, self._again.popleft())
        while True:
            await self._room.acquire()
            try:
                request = await self._queue.get()
            except asyncio.CancelledError:
                self._room.release()
                raise
            await self._write(writer, request)

    async def _write(self, writer: asyncio.StreamWriter, request: TypedRequest) -> None:
        self._correlation_id += 1
        if not self._pending:
            self._head_since_s = asyncio.get_running_loop().time()
        self._pending.append((self._correlation_id, request))
        self.recent.append(request)
        writer.write(request.frame(self._correlation_id))
        await writer.drain()

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        while True:
            size = _LENGTH.unpack(await self._read(reader, _LENGTH.size))[0]
            self._answer(await self._read(reader, size))

    async def _read(self, reader: asyncio.StreamReader, size: int) -> bytes:
        reading = asyncio.ensure_future(reader.readexactly(size))
        try:
            while not (await asyncio.wait([reading], timeout=1))[0]:
                self._pass_over_unanswered(is_last=True)
                waited_s = asyncio.get_running_loop().time() - self._head_since_s
                if self._pending and waited_s > ANSWER_S:
                    _, request = self._pending[0]
                    raise Unanswered(f"node {self.node_id}: no answer to {json.dumps(request.json())}")
        finally:
            reading.cancel()
        return reading.result()

    def _pass_over_unanswered(self, *, is_last: bool) -> None:
        """Produce with acks=0 has no answer; whether it was taken shows with the answer to the next request. With
        nothing behind it, it is taken for granted."""
        if is_last and any(request.is_answered for _, request in self._pending):
            return
        while self._pending and not self._pending[0][1].is_answered:
            self._outcome.without_answer += 1
            self._end(self._pending.popleft()[1])

    def _answer(self, frame: bytes) -> None:
        self._pass_over_unanswered(is_last=False)
        assert self._pending, f"node {self.node_id}: an answer to no request"
        correlation_id, request = self._pending.popleft()
        self._head_since_s = asyncio.get_running_loop().time()
        assert int.from_bytes(frame[:4], "big") == correlation_id, (
            f"node {self.node_id}: not the answer to request {correlation_id}, but to "
            f"{int.from_bytes(frame[:4], 'big')}\n{self.explain()}"
        )
        header = header_size(request)
        try:
            response = decode(response_class(request.key), request.version, frame[header:])
        except ProtocolError:
            # ApiVersions may be answered in version 0.
            assert request.key == ApiKey.API_VERSIONS, f"no valid answer to {json.dumps(request.json())}"
        else:
            self._outcome.codes[ApiKey(request.key).name, getattr(response, "error_code", 0)] += 1
            self._learn(request, response)
        self._end(request, self._outcome.answered)

    def _end(self, request: TypedRequest, counter: Counter[str] | None = None) -> None:
        if counter is not None:
            counter[ApiKey(request.key).name] += 1
        self._outcome.kinds.add((request.listener, request.key, request.version))
        self._room.release()
        self._queue.task_done()


def header_size(request: TypedRequest) -> int:
    """Size of the response's header: the correlation id, and an empty list of tagged fields."""
    return 4 + response_header_version(request.key, request.version)


class Learner:
    """Takes up what answers tell: ids that exist from now on."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def __call__(self, request: TypedRequest, response: Any) -> None:
        words, answer, asked = self._vocabulary, response, cast(Any, request.message)
        match request.key:
            case ApiKey.INIT_PRODUCER_ID if answer.error_code == 0:
                _remember(words.producer_ids, answer.producer_id)
            case ApiKey.JOIN_GROUP | ApiKey.CONSUMER_GROUP_HEARTBEAT if answer.member_id:
                _remember(words.members, answer.member_id)
            case ApiKey.BROKER_REGISTRATION if answer.error_code == 0:
                if asked.broker_id == words.own_broker:
                    words.own_broker_epoch = answer.broker_epoch
                    words.own_incarnation = asked.incarnation_id
            case ApiKey.CREATE_TOPICS:
                for topic in answer.topics:
                    if topic.error_code == 0 and topic.topic_id != bytes(16):
                        _remember(words.topic_ids, topic.topic_id)
            case ApiKey.VOTE | ApiKey.BEGIN_QUORUM_EPOCH | ApiKey.END_QUORUM_EPOCH:
                for topic in answer.topics:
                    for partition in topic.partitions:
                        words.quorum_epoch = max(words.quorum_epoch, partition.leader_epoch)


def _remember(known: list[Any], value: object) -> None:
    if value not in known:
        known.append(value)
        del known[:-_LEARNED_MAX]


class Sender:
    """All connections to a cluster."""

    def __init__(self, cluster: Cluster, vocabulary: Vocabulary, random: Random) -> None:
        self.outcome = Outcome()
        self._random = random
        learner = Learner(vocabulary)
        self._links: dict[ListenerRole, list[Link]] = {listener: [] for listener in ListenerRole}
        for node in cluster.nodes.values():
            for listener, port in (
                (ListenerRole.BROKER, node.broker_port),
                (ListenerRole.CONTROLLER, node.controller_port),
            ):
                for _ in range(CONNECTIONS):
                    self._links[listener].append(Link(port, node.id, self.outcome, learner))

    async def send(self, requests: TypedRequests, count: int, checks: int, more: Callable[[], None]) -> None:
        """`more` is called `checks` times, in a thread, while requests are being sent: it ends when all is well."""
        links = [link for some in self._links.values() for link in some]
        running = [asyncio.ensure_future(link.run()) for link in links]
        feeding = asyncio.ensure_future(self._feed(requests, count, checks, more))
        try:
            ended, _ = await asyncio.wait([feeding, *running], return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            for task in (feeding, *running):
                task.cancel()
            await asyncio.wait([feeding, *running])

    async def _feed(self, requests: TypedRequests, count: int, checks: int, more: Callable[[], None]) -> None:
        for check in range(checks):
            checking = asyncio.ensure_future(asyncio.to_thread(more))
            for _ in range(count * check // checks, count * (check + 1) // checks):
                request = requests.next()
                link = min(self._random.sample(self._links[request.listener], CHOICES), key=Link.backlog)
                await link.put(request)
            await checking
        for some in self._links.values():
            for link in some:
                await link.drain()

    def under_way(self) -> list[TypedRequest]:
        """The last ones of each connection, in the order in which they were drawn."""
        recent = [request for some in self._links.values() for link in some for request in link.recent]
        return sorted(recent, key=lambda request: request.number)


def exchange(port: int, request: Message, version: int, timeout_s: float = ANSWER_S) -> Any:
    """One request and its answer on a connection of its own; None if that was closed. Raises TimeoutError."""
    key = schema_of(type(request)).key
    made = TypedRequest(0, ListenerRole.BROKER, key, version, request, True)
    with socket.create_connection(("127.0.0.1", port), timeout_s) as connection:
        connection.sendall(made.frame(1))
        with connection.makefile("rb") as stream:
            size = stream.read(_LENGTH.size)
            if len(size) < _LENGTH.size:
                return None
            frame = stream.read(_LENGTH.unpack(size)[0])
    return decode(response_class(key), version, frame[header_size(made) :])
