"""The product's controller for simulated brokers, on a log that commits after a delay and loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from odradek.common.failures import ApiError
from odradek.controller.controls import ControlSettings
from odradek.controller.feature_control import QuorumFeatures
from odradek.controller.heartbeats import HeartbeatLimits
from odradek.controller.quorum_controller import Append, ControllerSettings, QuorumController
from odradek.metadata.features.feature_versions import ELIGIBLE_LEADER_REPLICAS_VERSION
from odradek.metadata.features.metadata_version import LATEST_PRODUCTION
from odradek.metadata.publishing.loader import MetadataBatch, MetadataLoader
from odradek.metadata.publishing.publisher import LeaderAndEpoch
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.message import Message
from odradek.protocol.messages.feature_level_record import FeatureLevelRecord
from odradek.sim.world.clock import SimulatedClock
from odradek.sim.world.scheduler import Scheduler

CLUSTER_ID = "SimulatedCluster--1234"
CONTROLLER_ID = 1_000
SESSION_TIMEOUT_MS = 2_000

#: How long a batch of the metadata log takes to commit, at most.
_COMMIT_MS = 10
#: How long a broker's fetch of the metadata log waits for something new.
_PULL_WAIT_MS = 500

Reply = Callable[[Any], None]


def _ignore() -> None:
    pass


class SimulatedController:
    def __init__(self, scheduler: Scheduler, random: Random, *, elr: bool) -> None:
        self._scheduler = scheduler
        self._random = random
        #: Called after each decision, before it is committed.
        self.on_append: Callable[[], None] = _ignore
        limits = HeartbeatLimits(session_timeout_ms=SESSION_TIMEOUT_MS)
        controls = ControlSettings(CLUSTER_ID, QuorumFeatures(CONTROLLER_ID), heartbeat=limits)
        levels = [FeatureLevelRecord(name="metadata.version", feature_level=int(LATEST_PRODUCTION))]
        if elr:
            levels.append(FeatureLevelRecord(name=ELIGIBLE_LEADER_REPLICAS_VERSION, feature_level=1))
        bootstrap = [MetadataRecord(level, 0) for level in levels]
        settings = ControllerSettings(controls, bootstrap, max_idle_interval_ms=None, leader_imbalance_check_ms=3_000)
        self.core = QuorumController(
            CONTROLLER_ID, settings, Random(random.getrandbits(32)), MetadataLoader(), SimulatedClock(scheduler)
        )
        self.log: list[MetadataBatch] = []
        self.committed = 0
        self._replies: dict[int, Reply] = {}
        self._pulls: list[tuple[int, Reply]] = []
        self._take(self.core.leader_changed(LeaderAndEpoch(CONTROLLER_ID, 1), 0))
        scheduler.every(lambda: 100, lambda: self._take(self.core.tick(scheduler.now_ms)))

    def handle(self, request: Message, reply: Reply) -> None:
        """The reply gets the response, or an `ApiError`."""
        submission = self.core.handle(request)
        self._replies[submission.id] = reply
        self._take(submission.appends)
        self._reply_results()

    def pull(self, position: int, reply: Reply) -> None:
        """Committed batches from this one on, when there are any."""
        if position < self.committed:
            reply(self.log[position : self.committed])
            return
        parked = (position, reply)
        self._pulls.append(parked)
        self._scheduler.after(_PULL_WAIT_MS, lambda: self._expire(parked))

    def _expire(self, parked: tuple[int, Reply]) -> None:
        if parked in self._pulls:
            self._pulls.remove(parked)
            parked[1]([])

    def _take(self, appends: Sequence[Append]) -> None:
        if not appends:
            return
        for append in appends:
            self.log.append(MetadataBatch(append.base_offset, append.last_offset, append.epoch, 0, 100, append.records))
        self.on_append()
        end = len(self.log)
        self._scheduler.after(self._random.randint(0, _COMMIT_MS), lambda: self._commit(end))

    def _commit(self, end: int) -> None:
        if end <= self.committed:
            return
        self.core.committed(self.log[self.committed : end], None)
        self.committed = end
        self._reply_results()
        pulls, self._pulls = self._pulls, []
        for position, reply in pulls:
            reply(self.log[position : self.committed])

    def _reply_results(self) -> None:
        for result in self.core.take_results():
            reply = self._replies.pop(result.id, None)
            if reply is not None:
                response: Any | ApiError = result.response if result.error is None else result.error
                reply(response)
