"""The task that keeps a client's metadata: asks when it is stale, and starts again from bootstrap when nobody answers.

Two requested refreshes are retry.backoff.ms apart at least, and further apart the more answers did not help (no answer,
or one that leaves a topic unknown or a partition without a leader). A topic that is wanted for the first time and a
refresh that somebody waits for do not wait for that.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from odradek.client.errors import refusal
from odradek.client.net.backoff import Backoff
from odradek.client.net.metadata_cache import NO_EPOCH, MetadataCache, Question
from odradek.common.failures import ApiError
from odradek.common.randomness import Randomness
from odradek.errors import Disconnected, RequestTimedOut, Unreachable
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.metadata_response import MetadataResponse

_log = logging.getLogger("odradek.client.metadata")

#: Before this version an answer could have an epoch that is older than the leader it names.
RELIABLE_EPOCHS_FROM = 9

#: Sends the request to some node: its response, and the version that it came in.
Ask = Callable[[MetadataRequest], Awaitable[tuple[MetadataResponse, int]]]


class NoBroker(Unreachable):
    """The node that was asked knows of no broker that is up: the cluster is only starting."""


class MetadataKeeper:
    def __init__(
        self,
        metadata: MetadataCache,
        ask: Ask,
        rebootstrap: Callable[[ApiError | None], None],
        backoff: Backoff,
        randomness: Randomness,
        *,
        may_create_topics: bool,
    ) -> None:
        """`rebootstrap` is told why there was no answer, or None where a node asks for it, and decides."""
        self._metadata = metadata
        self._ask = ask
        self._rebootstrap = rebootstrap
        self._backoff = backoff
        self._random = randomness
        self._may_create_topics = may_create_topics
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        #: Replaced each time when there is an answer.
        self._next_response: asyncio.Future[None] | None = None
        #: Questions about everything, counted: asked, and the last one that was answered.
        self._requested_version = 0
        self._answered = 0
        self._is_urgent = False
        #: One after the other: attempts without an answer, and answers that did not help; and when the last one was.
        self._failures = 0
        self._vain = 0
        self._attempted_ms = float("-inf")
        self.last_error: ApiError | None = None

    def start(self) -> None:
        self._task = asyncio.ensure_future(self._run())
        self._task.add_done_callback(self._ended)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """Closed, or by a fault of ours: whoever waits is told."""
        if self._next_response is not None and not self._next_response.done():
            self._next_response.set_exception(_fault_of(task) or Disconnected("the client was closed"))
            self._next_response.exception()  # there may be none who waits

    def wake(self) -> None:
        """Something became stale."""
        self._wake.set()

    async def refresh(self, timeout_ms: float) -> None:
        """Returns with an answer that was asked for after the call."""
        goal = self._requested_version + 1
        self._is_urgent = True
        self._metadata.request_update()
        self._wake.set()
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                while self._answered < goal:
                    await self.answer()
        except TimeoutError:
            raise RequestTimedOut(f"no metadata in {timeout_ms:g} ms: {self.reason}") from None

    async def answer(self) -> None:
        """Returns with the next answer. Raises Disconnected when the client is closed meanwhile."""
        if self._task is None or self._task.done():
            raise _fault_of(self._task) or Disconnected("the client is closed")
        if self._next_response is None or self._next_response.done():
            self._next_response = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._next_response)

    @property
    def reason(self) -> str:
        return self.last_error.message if self.last_error is not None else "nobody has answered yet"

    async def ask_once(self) -> None:
        """Raises what sending raises, and Refused."""
        question = self._metadata.question(self._now_ms())
        self._requested_version += question.is_whole
        requested_version, self._is_urgent = self._requested_version, False
        response, version = await self._ask(self._request(question))
        error = refusal(response.error_code)
        if error is not None:
            raise error
        if not response.brokers:
            raise NoBroker("the cluster has no broker that is up yet")
        if version < RELIABLE_EPOCHS_FROM:
            _forget_epochs(response)
        self._metadata.update(response, self._now_ms(), is_whole=question.is_whole)
        _log.debug("Metadata: %d brokers, %d topics in the response.", len(response.brokers), len(response.topics))
        if question.is_whole:
            self._answered = requested_version
        self.last_error = None
        self._failures = 0
        self._vain = self._vain + 1 if self._metadata.is_requested else 0
        if self._next_response is not None and not self._next_response.done():
            self._next_response.set_result(None)

    async def _run(self) -> None:
        while True:
            await self._until_due()
            self._attempted_ms = self._now_ms()
            try:
                await self.ask_once()
            except ApiError as error:
                self._failures += 1
                self.last_error = error
                _log.debug("The metadata request failed and will be retried: %r", error.message)
                self._metadata.request_update()
                self._note_failure(error)

    def _note_failure(self, error: ApiError) -> None:
        if error.code == ErrorCode.REBOOTSTRAP_REQUIRED:
            self._rebootstrap(None)
        elif isinstance(error, Disconnected | RequestTimedOut | Unreachable):
            self._rebootstrap(error)

    async def _until_due(self) -> None:
        while (wait_ms := self._due_ms() - self._now_ms()) > 0:
            self._wake.clear()
            try:
                async with asyncio.timeout(wait_ms / 1000):
                    await self._wake.wait()
            except TimeoutError:
                return

    def _due_ms(self) -> float:
        metadata = self._metadata
        if (self._is_urgent or metadata.has_new) and not self._failures:
            return 0.0
        if not metadata.is_requested:
            return metadata.stale_at_ms()
        in_vain = max(self._failures + self._vain, 1)
        return self._attempted_ms + self._backoff.delay_ms(in_vain, self._random)

    def _request(self, question: Question) -> MetadataRequest:
        topics = None if question.topics is None else [MetadataRequestTopic(name=name) for name in question.topics]
        return MetadataRequest(topics=topics, allow_auto_topic_creation=self._may_create_topics)

    def _now_ms(self) -> float:
        return asyncio.get_running_loop().time() * 1000


def _forget_epochs(response: MetadataResponse) -> None:
    for topic in response.topics:
        for partition in topic.partitions:
            partition.leader_epoch = NO_EPOCH


def _fault_of(task: "asyncio.Task[None] | None") -> BaseException | None:
    return None if task is None or task.cancelled() else task.exception()
