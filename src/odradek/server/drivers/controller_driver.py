"""The controller on the event loop: requests in, records to Raft, answers when they are durable.

Everything happens on the loop's one thread, and a decision is never interrupted: decide, replay and append are one
synchronous stretch. A future stands for each answer; it completes when Raft has committed what the answer rests on, or
fails with NOT_CONTROLLER when the leadership is lost first.

If Raft does not take what was decided (it has just lost the leadership, or the disk does not keep up), the controller's
state is ahead of the log: it gives up being active at once, and begins anew from what is committed.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from odradek.common.failures import ApiError, check
from odradek.common.ports import Clock
from odradek.controller.operations import OperationContext, decide
from odradek.controller.quorum_controller import Append, QuorumController, Submission
from odradek.metadata.features.feature_versions import KRAFT_VERSION
from odradek.metadata.publishing.publisher import LeaderAndEpoch
from odradek.metadata_log.committed_records import metadata_batches, snapshot_of
from odradek.protocol.message import Message
from odradek.protocol.messages.update_features_request import UpdateFeaturesRequest
from odradek.raft import values
from odradek.raft.effects import CommittedBatch, LoadSnapshot
from odradek.server.drivers.deadline_timer import DeadlineTimer
from odradek.server.drivers.fatal import FatalHandler
from odradek.server.drivers.raft_driver import RaftDriver

logger = logging.getLogger("odradek.controller")


class ControllerDriver:
    """A `api.facades.Controller`, and the `raft_driver.StateMachine` of a node that is a controller."""

    def __init__(self, core: QuorumController, driver: RaftDriver, clock: Clock, fatal: FatalHandler) -> None:
        self.core = core
        self._driver = driver
        self._raft = driver.raft
        self._clock = clock
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._fatal = fatal
        self._timer = DeadlineTimer(clock, lambda: core.deadline_ms, self._tick, fatal)

    # What others ask

    async def handle(self, request: Message, *, deadline_ms: int | None = None) -> Any:
        now_ms = self._clock.monotonic_ms()
        self._follow_log_end()
        if isinstance(request, UpdateFeaturesRequest):
            self._maybe_upgrade_kraft_version(request)
        return await self._submit(
            lambda: self.core.handle(request, created_ms=now_ms, deadline_ms=deadline_ms),
        )

    def heartbeat_connection_lost(self, broker_id: int, broker_epoch: int) -> None:
        self.core.connection_lost(broker_id, broker_epoch)
        self._timer.reschedule()

    def close(self) -> None:
        """No more ticks; answers still come while Raft goes on."""
        self._timer.close()

    def _submit(self, submit: Callable[[], Submission]) -> "asyncio.Future[Any]":
        try:
            submission = submit()
        except Exception as error:
            # An expected refusal is an answer; whatever is raised here may have left a decision half replayed.
            self._fatal(error)
            raise
        response: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[submission.id] = response
        self._append(submission.appends)
        self._after()
        return response

    # What Raft says

    def committed(self, batches: tuple[CommittedBatch, ...]) -> None:
        self.core.committed(metadata_batches(batches), self._raft.high_watermark)
        self._after()

    def load_snapshot(self, load: LoadSnapshot) -> None:
        if not load.is_bootstrap:
            self.core.load_snapshot(*snapshot_of(self._raft, load.id), self._raft.high_watermark)
            logger.info("loaded the snapshot at %s", load.id)

    def leader_changed(self, leader: values.LeaderAndEpoch) -> None:
        was_active = self.core.is_active
        appends = self.core.leader_changed(LeaderAndEpoch(*leader), self._raft.next_append_offset)
        if self.core.is_active and not was_active:
            logger.info("became active in epoch %d at offset %d", leader.epoch, self.core.next_write_offset)
            self._doubt_brokers_that_are_gone()
        elif was_active and not self.core.is_active:
            logger.info("is no longer active: %s", leader)
        self._append(appends)
        self._after()

    def _doubt_brokers_that_are_gone(self) -> None:
        """A new active controller has heard no broker, and gives each a whole session. One that lived in the process of
        a controller that is gone, perhaps the last active one, is gone with it: the grace of a broken connection is
        enough for it."""
        brokers = self.core.controls.cluster.brokers
        for node_id in self._raft.unreachable_nodes:
            if node_id in brokers:
                self.core.connection_lost(node_id, brokers[node_id].epoch)

    # From decisions to the log

    def _append(self, appends: Sequence[Append]) -> None:
        now_ms = self._clock.monotonic_ms()
        for append in appends:
            try:
                last_offset = self._raft.append(append.epoch, append.values, now_ms, append.records)
            except ApiError as error:
                self._give_up(append.epoch, str(error))
                return
            check(last_offset == append.last_offset, f"offset {last_offset} was given, not {append.last_offset}")
        if appends:
            self._driver.poke()

    def _give_up(self, epoch: int, reason: str) -> None:
        logger.warning("gives up being active in epoch %d: %s", epoch, reason)
        self._raft.resign(epoch)
        self._driver.poke()
        self.core.leader_changed(LeaderAndEpoch(None, epoch), self._raft.next_append_offset)

    def _follow_log_end(self) -> None:
        """Raft writes records of its own between ours."""
        if not self.core.is_active:
            return
        if self._raft.is_leader:
            self.core.log_end_moved(self._raft.next_append_offset)
        else:
            self._give_up(self.core.leader_and_epoch.epoch, "Raft has lost the leadership")

    def _after(self) -> None:
        for answer_id, response, error in self.core.take_results():
            waiting = self._answers.pop(answer_id, None)
            if waiting is None or waiting.done():
                continue  # the asker has gone
            if error is None:
                waiting.set_result(response)
            else:
                waiting.set_exception(error)
        for slow in self.core.slow_events:
            logger.warning("%s took %d ms, after %d ms in the queue", slow.name, slow.elapsed_ms, slow.queue_ms)
        self.core.slow_events.clear()
        self._timer.reschedule()

    # Time

    def _tick(self, now_ms: int) -> None:
        self._follow_log_end()
        if self.core.is_active:
            self._append(self.core.tick(now_ms))
        self._after()

    # kraft.version

    def _maybe_upgrade_kraft_version(self, request: UpdateFeaturesRequest) -> None:
        """Raft keeps this level, and writes it itself; the controller only says whether it may be. Raises ApiError.

        What Raft writes stands before what the controller decides, so the answer waits for it.
        """
        level = next((u.max_version_level for u in request.feature_updates if u.feature == KRAFT_VERSION), 0)
        core, epoch = self.core, self.core.leader_and_epoch.epoch
        if not core.is_active or level <= self._raft.kraft_version:
            return
        dry_run = UpdateFeaturesRequest(
            timeout_ms=request.timeout_ms, feature_updates=request.feature_updates, validate_only=True
        )
        context = OperationContext(self._clock.monotonic_ms(), core.next_write_offset)
        if decide(core.controls, dry_run, context).response.error_code == 0:
            self._raft.upgrade_kraft_version(epoch, level, validate_only=request.validate_only)
            self._driver.poke()
            self._follow_log_end()
