"""Three controllers with one log, reduced to the parts of Raft that a controller sees.

A prefix of the log is committed. A new leader may lose the uncommitted rest, and standbys learn of commits late.
"""

import hashlib
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from odradek.controller.controls import Controls, ControlSettings
from odradek.controller.feature_control import QuorumFeatures
from odradek.controller.quorum_controller import Append, QuorumController
from odradek.metadata.features.metadata_version import MetadataVersion
from odradek.metadata.publishing.loader import MetadataBatch
from odradek.metadata.publishing.publisher import LeaderAndEpoch
from odradek.metadata.records.record_serde import encode_record
from odradek.protocol.message import Message
from odradek.sim.controller.record_checks import RecordChecker
from odradek.sim.controller.setup import CLUSTER_ID, ManualClock, as_batch, bootstrap_records, make_controller
from odradek.sim.world.results import ensure

NODES = (101, 102, 103)


def empty_controls() -> Controls:
    return Controls(ControlSettings(CLUSTER_ID, QuorumFeatures(0)), Random(0))


def ignore_response(_: Any) -> None:
    pass


class ControllerCluster:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.clock = ManualClock()
        self.log: list[MetadataBatch] = []
        self.committed_batches = 0
        elr = random.random() < 0.7
        version = random.choice(list(MetadataVersion)[-8:]) if random.random() < 0.3 else None
        self._bootstrap = bootstrap_records(*([version] if version else []), eligible_leader_replicas_version=int(elr))
        self.controllers = {node: self._new_controller(node) for node in NODES}
        #: Number of batches that each controller has got.
        self.delivered = dict.fromkeys(NODES, 0)
        self.checker = RecordChecker(empty_controls())
        self.active: int | None = None
        self.operations = self.records = self.failovers = 0
        self._epoch = 0
        self._waiting: dict[int, Callable[[Any], None]] = {}
        self._trace = hashlib.sha256()

    @property
    def digest(self) -> str:
        return self._trace.hexdigest()

    @property
    def controller(self) -> QuorumController:
        """Active controller."""
        assert self.active is not None
        return self.controllers[self.active]

    # The log

    @property
    def end_offset(self) -> int:
        return self.log[-1].last_offset + 1 if self.log else 0

    def append(self, appends: Sequence[Append], proposed_isr: Sequence[int] = ()) -> None:
        for append in appends:
            ensure(append.base_offset == self.end_offset, "an append that does not continue the log")
            ensure(append.epoch == self._epoch, "an append of a leader that was deposed")
            self.log.append(as_batch(append))
            self.records += len(append.records)
            for record in append.records:
                self._trace.update(encode_record(record))
            self.checker.check(append.records, append.base_offset, proposed_isr)

    def commit(self, *, everything: bool = False) -> None:
        """Commit some of the log, and deliver it to some controllers; or all to all."""
        pending = len(self.log) - self.committed_batches
        self.committed_batches += pending if everything else self.random.randint(0, pending)
        for node in NODES:
            if node == self.active or everything or self.random.random() < 0.7:
                self._deliver(node)

    def _deliver(self, node: int) -> None:
        batches = self.log[self.delivered[node] : self.committed_batches]
        if batches:
            self.controllers[node].committed(batches, None)
            self.delivered[node] = self.committed_batches
        for result in self.controllers[node].take_results():
            code = 0 if result.error is None else result.error.code
            self._trace.update(f"{result.id}:{code};".encode())
            on_response = self._waiting.pop(result.id, None) if node == self.active else None
            if on_response is not None and result.error is None:
                on_response(result.response)

    # Controllers

    def elect(self, node: int) -> None:
        """Make a node the leader. The log keeps all committed batches and a random prefix of the others."""
        length = self.random.randint(self.committed_batches, len(self.log))
        lost = self.log[length:]
        del self.log[length:]
        if self.active is not None:
            self._depose(self.active)
        if lost:
            self._rebuild_checker()
        self._epoch += 1
        self.log.append(MetadataBatch(self.end_offset, self.end_offset, self._epoch, 0, 50, ()))
        self.committed_batches = len(self.log)
        self._deliver(node)
        self.active = node
        leader = LeaderAndEpoch(node, self._epoch)
        for other in NODES:
            if other != node:
                self.controllers[other].leader_changed(leader, 0)
        self.append(self.controllers[node].leader_changed(leader, self.end_offset))

    def _depose(self, node: int) -> None:
        self._epoch += 1
        self.controllers[node].leader_changed(LeaderAndEpoch(None, self._epoch), 0)
        self._deliver(node)
        self.active = None
        self._waiting.clear()
        self.failovers += 1

    def restart_standby(self) -> None:
        """Restart a standby from a snapshot of another node's image, or from the start of the log."""
        node = self.random.choice([node for node in NODES if node != self.active])
        source = self.random.choice([other for other in NODES if other != node])
        image = self.controllers[source].loader.image
        has_open_transaction = bool(self.controllers[source].loader.open_transaction)
        self.controllers[node] = self._new_controller(node)
        self.delivered[node] = 0
        if not image.is_empty and not has_open_transaction and self.random.random() < 0.7:
            self.controllers[node].load_snapshot(image.provenance, list(image.records()), None)
            self.delivered[node] = self.delivered[source]
        self._deliver(node)

    def _new_controller(self, node: int) -> QuorumController:
        seed = self.random.randrange(1 << 30)
        return make_controller(node, self.clock, seed=seed, bootstrap=self._bootstrap, static={})

    def _rebuild_checker(self) -> None:
        self.checker = RecordChecker(empty_controls())
        for batch in self.log:
            for index, record in enumerate(batch.records):
                self.checker.controls.replay(record.message, batch.base_offset + index)

    def request(
        self,
        request: Message,
        on_response: Callable[[Any], None] = ignore_response,
        proposed_isr: Sequence[int] = (),
    ) -> None:
        """Send a request to the active controller. `on_response` is called once it is committed, unless it fails."""
        submission = self.controller.handle(request, created_ms=self.clock.now_ms)
        self.operations += 1
        self._waiting[submission.id] = on_response
        self.append(submission.appends, proposed_isr)
        assert self.active is not None
        self._deliver(self.active)
