"""Raft on the event loop: waits for a message or a deadline, steps, and carries out the effects.

One task does it all, so that a step never begins before the effects of the one before are done. What must be durable
is synced in a worker thread, and waited for: meanwhile the loop answers others, requests gather in the inbox, and
records gather in the leader's accumulator, so that one sync serves many of them.

Requests to other replicas are tasks of their own; their answers come back through the inbox. A refused connection is
told to Raft as such: the process at the other end is gone, and nobody need wait for a time-out.

A Fault, ours or the disk's, ends the task, and the node stops.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from odradek.api.dispatch.services import Node
from odradek.client.net.channel import ChannelConfig
from odradek.client.net.channel_pool import ChannelPool
from odradek.common.failures import ApiError
from odradek.common.ports import Clock
from odradek.errors import Disconnected, VersionsDiffer
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.errors import UnsupportedVersion
from odradek.protocol.message import Message
from odradek.raft.config import QuorumConfig
from odradek.raft.effects import (
    Commit,
    CommittedBatch,
    Effect,
    Flush,
    LeaderChange,
    LoadSnapshot,
    Persist,
    Reply,
    Send,
    Stopped,
)
from odradek.raft.events import TICK, Event, Request, RequestFailed, Response
from odradek.raft.raft import Raft
from odradek.raft.storage.quorum_state_file import QuorumStateStore
from odradek.raft.storage.raft_log import RaftLog
from odradek.raft.values import LeaderAndEpoch
from odradek.server.drivers.raft_log_messages import describe_change
from odradek.server.drivers.raft_peers import Peers

logger = logging.getLogger("odradek.raft")


class StateMachine(Protocol):
    """State machine on top of the log. Called between steps, in the order of the log."""

    def committed(self, batches: tuple[CommittedBatch, ...]) -> None: ...

    def load_snapshot(self, load: LoadSnapshot) -> None: ...

    def leader_changed(self, leader: LeaderAndEpoch) -> None: ...


class RaftDriver:
    """A `api.facades.Quorum`."""

    def __init__(self, raft: Raft, config: QuorumConfig, log: RaftLog, store: QuorumStateStore, clock: Clock) -> None:
        self.raft = raft
        #: Set before `run`.
        self.machine: StateMachine
        self.handed_over = False
        self._config = config
        self._log = log
        self._store = store
        self._clock = clock
        self._inbox: deque[Event | Callable[[], None]] = deque()
        self._wake: asyncio.Future[None] | None = None
        self._is_closed = False
        self._sending: set[asyncio.Task[None]] = set()
        self._waiting: set[asyncio.Future[Message]] = set()
        self._peers = Peers()
        # One thread: syncs of the log and of the vote never overtake each other.
        self._disk = ThreadPoolExecutor(1, "raft-disk")
        self._channels = ChannelPool(
            ChannelConfig(
                client_id=f"raft-client-{raft.local.id}",
                connect_timeout_ms=config.request_timeout_ms,
                reconnect_backoff_ms=config.retry_backoff_ms,
                # A node that was away is found again at once: failing to connect costs nothing on a live network.
                reconnect_backoff_max_ms=config.retry_backoff_ms,
            )
        )

    # What others ask

    async def handle(self, request: Message, version: int, listener_name: str) -> Any:
        if self._is_closed:
            raise Stopping("this node is stopping")
        reply: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting.add(reply)
        reply.add_done_callback(self._waiting.discard)
        self._put(Request(reply, request, version, listener_name))
        return await reply

    @property
    def leader_epoch(self) -> int:
        return self.raft.leader_and_epoch.epoch

    def leader(self) -> Node | None:
        raft, listener = self.raft, self.raft.local.listener
        leader_id = raft.leader_and_epoch.leader_id
        if leader_id is None:
            return None
        endpoints = raft.local.endpoints if leader_id == raft.local.id else raft.state.leader_endpoints
        address = endpoints.address(listener) or raft.voters.endpoints(leader_id).address(listener)
        return None if address is None else Node(leader_id, address.host, address.port)

    def voters(self) -> list[Node]:
        listener = self.raft.local.listener
        destinations = [self.raft.voters.destination(voter_id, listener) for voter_id in self.raft.voters.ids]
        return [Node(voter.id, voter.host, voter.port) for voter in destinations if voter is not None]

    def peer_troubles(self) -> list[str]:
        """Why other nodes of the quorum cannot be talked with, for those who can do something about it."""
        return self._peers.troubles()

    async def between_steps(self, call: Callable[[], None]) -> None:
        """Run `call` while nothing else touches the replica or its log."""
        completed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def run() -> None:
            if completed.cancelled():
                return  # the asker has gone, and what the call was to work on with it
            try:
                call()
            except Exception as error:
                completed.set_exception(error)
                raise
            completed.set_result(None)

        self._put(run)
        await completed

    def poke(self) -> None:
        """Something was appended, or a deadline has come nearer."""
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    # The task

    async def run(self) -> None:
        """Until the replica has stopped. Raises Fault."""
        try:
            while not self.raft.is_stopped:
                await self._wait()
                await self._take(self._inbox.popleft() if self._inbox else TICK)
        finally:
            await self._close()

    def shutdown(self, timeout_ms: int) -> None:
        """Ask `run` to end, when somebody else leads or the time is over. Asked again, the later time counts."""
        self.raft.shutdown(timeout_ms, self._clock.monotonic_ms())
        self.poke()

    async def _wait(self) -> None:
        if self._inbox:
            return
        delay_ms = self.raft.deadline_ms - self._clock.monotonic_ms()
        if delay_ms <= 0:
            # Others get their turn, even if there is always something due.
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        self._wake = loop.create_future()
        timer = loop.call_later(delay_ms / 1000, self.poke)
        try:
            await self._wake
        finally:
            timer.cancel()
            self._wake = None

    async def _take(self, event: Event | Callable[[], None]) -> None:
        if not isinstance(event, Request | Response | RequestFailed) and event is not TICK:
            assert callable(event)
            event()
            return
        previous = self.raft.state
        effects = self.raft.step(event, self._clock.monotonic_ms())
        if self.raft.state is not previous:
            # A replica that finds no majority tries again and again; that is no change that anybody must read.
            level = logging.INFO if str(previous) != str(self.raft.state) else logging.DEBUG
            logger.log(level, "%s", describe_change(previous, self.raft.state, event))
        for effect in effects:
            await self._carry_out(effect)

    async def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Send():
                self._send(effect)
            case Reply():
                self._reply(effect)
            case Flush():
                await self._on_disk(self._log.flush)
            case Persist(election, version):
                await self._on_disk(lambda: self._store.write(election, version))
            case Commit(batches):
                self.machine.committed(batches)
            case LoadSnapshot():
                self.machine.load_snapshot(effect)
            case LeaderChange(leader):
                self.machine.leader_changed(leader)
            case Stopped(handed_over):
                self.handed_over = handed_over

    async def _on_disk(self, work: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._disk, work)

    def _put(self, event: Event | Callable[[], None]) -> None:
        self._inbox.append(event)
        self.poke()

    def _reply(self, effect: Reply) -> None:
        reply = effect.handle
        assert isinstance(reply, asyncio.Future)
        if not reply.done():  # the asker may have gone
            reply.set_result(effect.message)

    def _send(self, effect: Send) -> None:
        task = asyncio.ensure_future(self._ask(effect))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _ask(self, effect: Send) -> None:
        destination = effect.destination
        channel = self._channels.channel(*destination)
        try:
            response = await channel.send(effect.message, self._config.request_timeout_ms)
        except (VersionsDiffer, UnsupportedVersion):
            self._put(RequestFailed(effect.correlation_id, ErrorCode.UNSUPPORTED_VERSION))
        except Disconnected as error:
            self._peers.failed(destination, error)
            self._put(RequestFailed(effect.correlation_id, refused=error.refused))
        except ApiError as error:
            self._peers.failed(destination, error)
            self._put(RequestFailed(effect.correlation_id))
        else:
            self._peers.answered(destination, response)
            self._put(Response(effect.correlation_id, response))

    async def _close(self) -> None:
        """Fail the pending requests, cancel the others, and close the channels."""
        self._is_closed = True
        for task in self._sending:
            task.cancel()
        for reply in list(self._waiting):
            if not reply.done():
                reply.set_exception(Stopping("this node is stopping"))
        await self._channels.close()
        self._disk.shutdown()


class Stopping(ApiError):
    code = ErrorCode.BROKER_NOT_AVAILABLE
