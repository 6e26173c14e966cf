"""Drives a member: its requests by tasks of its own, its steps by the polls of the application.

One task gives the member its turns: when an answer has come, when a time has come, when somebody calls `nudge`. Each
request is a task, too, so that a join that waits for the group holds up nothing. `poll` carries out the member's steps
in the caller's task. Nothing here decides anything about the group: that is the member's (`core`).

`needs_poll` becomes true for a step, for an error that the application must know of, for an automatic commit, and once
a tick. Whoever has polled since the last tick is taken to have done so just now: the clock is not read for each record.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any

from odradek.client.consumer.subscriptions import Subscriptions
from odradek.client.errors import is_retriable
from odradek.client.group.commits import Commits
from odradek.client.group.core import Identity, MemberCore, Request, Step
from odradek.client.group.group_metadata import GroupMetadata
from odradek.client.group.listener import RebalanceListener
from odradek.client.net.connections import own_connection
from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.net.network_client import NetworkClient
from odradek.client.settings.settings import ConsumerConfig
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common.failures import ApiError, check
from odradek.errors import Disconnected, RequestTimedOut
from odradek.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.heartbeat_request import HeartbeatRequest

_log = logging.getLogger("odradek.client.group")

#: A poll that carries out more steps than this is caught in a loop; each costs the group a rebalance.
_STEPS_MAX = 100

#: A member that was not told off is dropped when its session expires: not worth a wait for brokers that are gone.
_GOODBYE_GONE_MS = 500

#: So that max.poll.interval.ms is noticed in time even if it is shorter than a heartbeat.
_TICKS_PER_POLL_INTERVAL = 3

Listener = Callable[[], RebalanceListener | None]


class GroupDriver:
    def __init__(
        self,
        settings: ConsumerConfig,
        network: NetworkClient,
        subscriptions: Subscriptions,
        listener: Listener,
        core: MemberCore,
    ) -> None:
        check(settings.group_id is not None, "a member has a group")
        self._group_id = settings.group_id or ""
        self._settings = settings
        self._network = network
        self._subscriptions = subscriptions
        self._listener = listener
        self._core = core
        self._commits = Commits(network, self._group_id, settings.group_instance_id)
        self._tick_ms = min(settings.heartbeat_interval_ms, settings.max_poll_interval_ms / _TICKS_PER_POLL_INTERVAL)
        self._tick_at_ms = 0.0
        self._commit_at_ms = 0.0
        self._auto_commit: asyncio.Task[None] | None = None
        self._seen_subscription = -1
        self._has_news = asyncio.Event()
        self._progress = asyncio.Event()
        self._poll_task: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self.needs_poll = True
        self.wake: Callable[[], None] = lambda: None

    # The consumer's side

    async def poll(self, timeout_ms: float) -> None:
        if self._is_closed:  # by another task, meanwhile
            self.needs_poll = False
            return
        now_ms = self._begin()
        ends_ms = now_ms + timeout_ms
        self._take_subscription()
        self._core.polled(now_ms)
        self.needs_poll = False
        while True:
            await self._take_steps()
            self._poll_core()
            now_ms = self._now_ms()
            if now_ms >= ends_ms or not self._core.is_rebalancing:
                break
            self._progress.clear()
            await self._wait(self._progress, ends_ms - now_ms)
        self._maybe_auto_commit(self._now_ms())

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_ms: float) -> None:
        await self._commits.commit(offsets, timeout_ms, self._commit_identity, self._core.on_commit_error)
        self.nudge()

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        return await self._commits.committed(partitions, timeout_ms, self._fetch_identity)

    def group_metadata(self) -> GroupMetadata:
        identity = self._core.assigned_as
        return GroupMetadata(
            self._group_id, identity.generation_id, identity.member_id, self._settings.group_instance_id
        )

    def enforce_rebalance(self, reason: str | None = None) -> None:
        """Request a rebalance; only the classic protocol has this."""

    async def leave(self, timeout_ms: float) -> None:
        """Leave the group, before `Subscriptions.unsubscribe`."""
        ends_ms = self._now_ms() + timeout_ms
        await self._drop_auto_commit()
        if self._settings.enable_auto_commit:
            await self._commit_quietly(timeout_ms, is_last=True)
        error = await self._give_up_all()
        request = self._core.leave(self._now_ms(), "the consumer unsubscribed from all topics")
        self._core.subscribe(None)
        self._seen_subscription = self._subscriptions.subscription_version  # not to be taken up again
        if request is not None:
            await self._say_goodbye(request, max(0.0, ends_ms - self._now_ms()))
        if error is not None:
            raise error

    async def close(self, timeout_ms: float) -> None:
        try:
            await self.leave(timeout_ms)
        finally:
            self._is_closed = True
            tasks = [*self._tasks, *(task for task in (self._poll_task, self._auto_commit) if task is not None)]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # Steps

    async def _take_steps(self) -> None:
        for _ in range(_STEPS_MAX):
            error = self._core.take_error()
            if error is not None:
                raise error
            step = self._core.step()
            if step is None:
                return
            await self._take(step)
            self.nudge()

    async def _take(self, step: Step) -> None:
        await self._drop_auto_commit()
        self._subscriptions.mark_pending_revocation(step.revoked or step.lost or ())
        if step.is_commit_due and self._settings.enable_auto_commit:
            await self._commit_quietly(min(self._settings.max_poll_interval_ms, self._settings.default_api_timeout_ms))
            if not self._core.holds(step):
                return
        error = None
        self._log_step(step)
        if step.lost:
            error = await self._call("on_partitions_lost", step.lost)
        if step.revoked is not None:
            error = await self._call("on_partitions_revoked", step.revoked)
        if not self._core.holds(step) and step.added is not None:
            if error is not None:
                raise error
            return
        self._subscriptions.assign_from_group(step.assigned, awaiting_callback=step.added is not None)
        self._want_topics()
        if step.added is not None:
            error = await self._call("on_partitions_assigned", step.added) or error
            self._subscriptions.callback_done(step.added)
            self._commit_at_ms = self._now_ms() + self._settings.auto_commit_interval_ms
        self._core.done(step)
        if error is not None:
            raise error

    def _log_step(self, step: Step) -> None:
        for verb, partitions in (("lost", step.lost), ("gives up", step.revoked)):
            if partitions:
                _log.info("Group %r: the member %s %s.", self._group_id, verb, ", ".join(map(str, partitions)))
        if step.added is not None:
            assigned = ", ".join(map(str, step.assigned)) or "no partitions"
            _log.info("Group %r: the member is assigned %s.", self._group_id, assigned)

    async def _give_up_all(self) -> Exception | None:
        """Before we leave: what we have goes with us."""
        partitions = self._core.owned
        if not partitions:
            return None
        self._subscriptions.mark_pending_revocation(partitions)
        try:
            self._core.commit_identity()
            name = "on_partitions_revoked"
        except ApiError:
            name = "on_partitions_lost"
        error = await self._call(name, partitions)
        self._core.release_owned()
        if self._subscriptions.has_group_assignment:
            self._subscriptions.assign_from_group(())
        return error

    async def _call(self, name: str, partitions: Sequence[TopicPartition]) -> Exception | None:
        """A callback of the application; what it raises comes out of its poll, when the rebalance is done."""
        listener = self._listener()
        if listener is None:
            return None
        try:
            called: Awaitable[None] | None = getattr(listener, name)(partitions)
            if called is not None:
                await called
        except Exception as error:  # noqa: BLE001 - whatever an application raises is told to it
            return error
        return None

    # Commits

    def _commit_identity(self) -> Identity:
        return self._core.commit_identity() if self._subscriptions.has_group_assignment else Identity()

    def _fetch_identity(self) -> Identity | None:
        """Only members of the consumer protocol say who asks."""
        return None

    async def _commit_quietly(self, timeout_ms: float, *, is_last: bool = False) -> None:
        """Commits what was handed out, before another member goes on from there. The last commit of a member does not
        wait for brokers whose processes are gone."""
        offsets = self._subscriptions.all_consumed()
        commit = self._commits.commit(offsets, timeout_ms, self._commit_identity, self._core.on_commit_error)
        try:
            await (self._network.unless_gone(commit) if is_last else commit)
        except ApiError as error:
            _log.warning("Group %r: the automatic commit failed: %s", self._group_id, error)

    def _maybe_auto_commit(self, now_ms: float) -> None:
        if not self._settings.enable_auto_commit or now_ms < self._commit_at_ms:
            return
        if self._commit_at_ms and (self._auto_commit is None or self._auto_commit.done()):
            offsets = self._subscriptions.all_consumed()
            if offsets:
                self._auto_commit = asyncio.ensure_future(self._commit_once(offsets))
        self._commit_at_ms = now_ms + self._settings.auto_commit_interval_ms

    async def _drop_auto_commit(self) -> None:
        """One that still looks for its coordinator must not be sent in the name of who we will be."""
        if self._auto_commit is not None:
            self._auto_commit.cancel()
            await asyncio.wait([self._auto_commit])
            self._auto_commit = None

    async def _commit_once(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Not again if it fails: the next one, soon, has later offsets."""
        try:
            await self._commits.commit(
                offsets,
                self._settings.request_timeout_ms,
                self._commit_identity,
                self._core.on_commit_error,
                is_repeated=False,
            )
        except ApiError as error:
            _log.log(
                logging.DEBUG if is_retriable(error) else logging.WARNING,
                "Group %r: the automatic commit failed: %s",
                self._group_id,
                error,
            )
            if is_retriable(error):
                self._commit_at_ms = self._now_ms() + self._settings.retry_backoff_ms
            self.nudge()

    # Turns

    def nudge(self) -> None:
        self._has_news.set()

    def _begin(self) -> float:
        now_ms = self._now_ms()
        if self._poll_task is not None and self._poll_task.done():
            self._poll_task.result()
        if self._poll_task is None and not self._is_closed:
            self._tick_at_ms = now_ms + self._tick_ms
            self._commit_at_ms = now_ms + self._settings.auto_commit_interval_ms
            self._poll_task = asyncio.ensure_future(self._poll_until_closed())
            self._poll_task.add_done_callback(lambda _: self._ask_for_poll())
        return now_ms

    async def _poll_until_closed(self) -> None:
        while True:
            self._has_news.clear()
            self._poll_core()
            now_ms = self._now_ms()
            next_ms = min(self._core.next_poll_ms(now_ms), self._tick_at_ms)
            if self._settings.enable_auto_commit:
                next_ms = min(next_ms, max(self._commit_at_ms, now_ms + 1) if self.needs_poll else self._commit_at_ms)
            await self._wait(self._has_news, next_ms - now_ms)

    def _poll_core(self) -> None:
        now_ms = self._now_ms()
        self._look(now_ms)
        for request in self._core.poll(now_ms):
            if not isinstance(request.message, HeartbeatRequest | ConsumerGroupHeartbeatRequest):
                _log.debug("Group %r: sends %s.", self._group_id, type(request.message).__name__)
            self._start(self._send(request))
        is_step_due = self._core.error is not None or self._core.is_step_due
        if is_step_due or not self._core.is_rebalancing:
            self._progress.set()
        is_commit_due = self._settings.enable_auto_commit and now_ms >= self._commit_at_ms
        if self._is_tick(now_ms) or is_step_due or is_commit_due:
            self._ask_for_poll()

    def _is_tick(self, now_ms: float) -> bool:
        if now_ms < self._tick_at_ms:
            return False
        self._tick_at_ms = now_ms + self._tick_ms
        if not self.needs_poll:
            self._core.polled(now_ms)
        return True

    def _ask_for_poll(self) -> None:
        if not self.needs_poll:
            self.needs_poll = True
            self.wake()

    def _take_subscription(self) -> None:
        if self._seen_subscription == self._subscriptions.subscription_version:
            return
        self._seen_subscription = self._subscriptions.subscription_version
        topics = self._subscriptions.topics if self._subscriptions.has_group_assignment else None
        self._core.subscribe(topics, self._subscriptions.server_pattern)

    def _look(self, now_ms: float) -> None:
        """At what else may have changed, before the member's turn."""
        self._take_subscription()

    def _want_topics(self) -> None:
        """Request metadata of the subscribed topics; a client-side pattern already requests all topics."""
        if self._subscriptions.pattern is None:
            self._network.want_topics(self._subscriptions.metadata_topics())

    # Requests

    async def _send(self, request: Request) -> None:
        try:
            node_id = await self._network.coordinator(CoordinatorKind.GROUP, self._group_id, request.timeout_ms)
            response = await self._network.send(node_id, request.message, request.timeout_ms)
        except ApiError as error:
            name = type(request.message).__name__
            _log.debug("Group %r: %s failed and will be retried: %r", self._group_id, name, error.message)
            if isinstance(error, Disconnected | RequestTimedOut):
                self._forget_coordinator()
            self._core.on_failure(request, error, self._now_ms())
        else:
            self._core.on_response(request, response, self._now_ms())
        self.nudge()

    async def _say_goodbye(self, request: Request, timeout_ms: float) -> None:
        """Tells the coordinator that the member leaves."""
        try:
            await self._network.unless_gone(self._send_goodbye(request, timeout_ms), min(timeout_ms, _GOODBYE_GONE_MS))
        except ApiError as error:
            _log.debug("Group %r: the member left without notifying the coordinator: %s", self._group_id, error)

    async def _send_goodbye(self, request: Request, timeout_ms: float) -> None:
        """On the broker's other connection: on the one of the group a join may be waiting for its answer."""
        node_id = await self._network.coordinator(CoordinatorKind.GROUP, self._group_id, timeout_ms)
        if own_connection(node_id) in self._network.metadata.nodes:
            node_id = own_connection(node_id)
        await self._network.send(node_id, request.message, timeout_ms)

    def _forget_coordinator(self) -> None:
        self._network.forget_coordinator(CoordinatorKind.GROUP, self._group_id)

    # Ways and means

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @staticmethod
    def _now_ms() -> float:
        return asyncio.get_running_loop().time() * 1000

    @staticmethod
    async def _wait(event: asyncio.Event, timeout_ms: float) -> None:
        try:
            async with asyncio.timeout(max(0.0, timeout_ms) / 1000):
                await event.wait()
        except TimeoutError:
            pass
