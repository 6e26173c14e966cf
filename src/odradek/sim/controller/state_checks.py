"""Invariants of the states of controllers: live state, images and standbys are replays of the log."""

from collections.abc import Mapping
from random import Random

from odradek.controller.controls import Controls, ControlSettings
from odradek.controller.feature_control import QuorumFeatures
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY, MetadataProvenance
from odradek.metadata.records.record_types import TRANSACTION_TYPES
from odradek.sim.controller.cluster import NODES, ControllerCluster, empty_controls
from odradek.sim.controller.setup import CLUSTER_ID
from odradek.sim.world.results import ensure


class StateChecks:
    def __init__(self, cluster: ControllerCluster) -> None:
        self._cluster = cluster

    def check(self) -> None:
        cluster = self._cluster
        live = cluster.controller.controls.durable_state()
        is_next = cluster.controller.next_write_offset == cluster.end_offset
        ensure(is_next, "the active controller's next offset is not the end of the log")
        replayed = self._replayed(len(cluster.log)).durable_state()
        ensure(live == replayed, "the live state is not the replay of the log")
        ensure(live == cluster.checker.controls.durable_state(), "the live state is not that of a reader of the log")
        for node in NODES:
            self._check_image(node)
            if node != cluster.active:
                self._check_standby(node)

    def check_final(self, created: Mapping[str, bytes], maybe_deleted: Mapping[bytes, None]) -> None:
        """Check that all controllers have the same state, with every acknowledged topic."""
        self.check()
        cluster = self._cluster
        states = [cluster.controllers[node].controls.durable_state() for node in NODES]
        ensure(states[0] == states[1] == states[2], "controllers that read the same log differ")
        topics = cluster.controller.controls.registry.topics
        for name, topic_id in created.items():
            exists = topic_id in topics or topic_id in maybe_deleted
            ensure(exists, f"the topic {name} was acknowledged and is lost")

    def _check_standby(self, node: int) -> None:
        expected = self._replayed(self._cluster.delivered[node]).durable_state()
        state = self._cluster.controllers[node].controls.durable_state()
        ensure(state == expected, "a standby is not the replay of its log")

    def _check_image(self, node: int) -> None:
        cluster = self._cluster
        loader = cluster.controllers[node].loader
        delta = MetadataDelta(EMPTY)
        for batch in cluster.log[: cluster.delivered[node]]:
            for message, _ in batch.records:
                if message.API_KEY not in TRANSACTION_TYPES:
                    delta.replay(message)
        if loader.open_transaction:
            return
        rebuilt_image = delta.apply(MetadataProvenance())
        ensure(loader.image.same_content(rebuilt_image), "image and deltas are not the full rebuild")
        rebuilt = Controls.from_image(ControlSettings(CLUSTER_ID, QuorumFeatures(0)), Random(0), loader.image)
        expected = self._replayed(cluster.delivered[node])
        ensure(rebuilt.durable_state() == expected.durable_state(), "the image is not what the controller holds")

    def _replayed(self, batches: int) -> Controls:
        controls = empty_controls()
        for batch in self._cluster.log[:batches]:
            for index, record in enumerate(batch.records):
                controls.replay(record.message, batch.base_offset + index)
        return controls
