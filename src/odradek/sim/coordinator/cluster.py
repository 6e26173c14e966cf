"""Several nodes that coordinate on one internal topic, with clients that reach them over a network that loses answers.

The topic is `log`'s. Whoever is elected leads at once; nodes hear of it later, in order, and sometimes only
of the last of several changes. A node that has lost a partition and not heard of it yet goes on with a log of its own
that nobody replicates: what it appends is never committed. The high watermark trails the end of the log.

A workload says what a shard is and sends requests with `ask`; what it hears may also be that it waited in vain.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Generic, TypeVar

from odradek.common.failures import ApiError
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.runtime.runtime import CoordinatorRuntime
from odradek.coordinator.runtime.shard import Shard, ShardContext
from odradek.metadata.image.image import EMPTY, MetadataImage
from odradek.protocol.error_codes import ErrorCode
from odradek.sim.coordinator.log import NOBODY_LEADS, SimulatedLog, SimulatedPartition, SimulatedTopic
from odradek.sim.world.clock import SimulatedClock
from odradek.sim.world.scheduler import Scheduler

AnyShard = TypeVar("AnyShard", bound=Shard)
Answer = TypeVar("Answer")

#: When a client gives up; longer than any write waits for its log.
CLIENT_TIMEOUT_MS = 2_500
WRITE_TIMEOUT_MS = 1_000


class CoordinatorNode(Generic[AnyShard]):
    def __init__(self, cluster: CoordinatorCluster[AnyShard], node_id: int) -> None:
        self.id = node_id
        self._cluster = cluster
        self.log = SimulatedLog(cluster.topic, node_id)
        self.log.on_append = cluster.appended
        self.runtime: CoordinatorRuntime[AnyShard]
        self.is_up = False
        #: Of the last news that are on their way: those of later changes never come before.
        self.news_at_ms = 0
        self._wakes_ms: int | None = None
        self.start()

    def start(self) -> None:
        """Start without any state but the log."""
        cluster = self._cluster
        self.is_up = True
        self.log.views.clear()
        self.runtime = runtime = CoordinatorRuntime(
            cluster.topic_name, self.log, cluster.new_shard, cluster.clock, cluster.random
        )
        runtime.image = cluster.image
        self._wakes_ms = None
        runtime.on_deadline(self._set_alarm)

    def _set_alarm(self) -> None:
        deadline_ms = self.runtime.deadline_ms
        if deadline_ms is not None and (self._wakes_ms is None or deadline_ms < self._wakes_ms):
            self._wakes_ms = deadline_ms
            runtime = self.runtime
            self._cluster.scheduler.at(deadline_ms, lambda: self._tick(runtime, deadline_ms))

    def _tick(self, runtime: CoordinatorRuntime[AnyShard], alarm_ms: int) -> None:
        if runtime is self.runtime and self.is_up and self._wakes_ms == alarm_ms:
            self._wakes_ms = None
            runtime.tick(self._cluster.scheduler.now_ms)
            self._set_alarm()

    def crash(self) -> None:
        self.is_up = False

    def apply_leader(self, partition_index: int) -> None:
        """Load or unload a partition, whose leader is the one in the metadata."""
        partition = self._cluster.topic.partitions[partition_index]
        if partition.leader == self.id:
            if self.runtime.load(partition_index, partition.leader_epoch):
                self.log.views.pop(partition_index, None)
                self._load(self.runtime, partition_index)
        else:
            self.runtime.unload(partition_index, partition.leader_epoch)
            self.log.views.pop(partition_index, None)

    def _load(self, runtime: CoordinatorRuntime[AnyShard], partition_index: int) -> None:
        if runtime is self.runtime and self.is_up and runtime.load_step(partition_index):
            self._cluster.scheduler.after(1, lambda: self._load(runtime, partition_index))


class CoordinatorCluster(Generic[AnyShard]):
    def __init__(
        self,
        random: Random,
        topic_name: str,
        new_shard: Callable[[ShardContext], AnyShard],
        *,
        node_count: int = 3,
        partition_count: int = 2,
        image: MetadataImage = EMPTY,
    ) -> None:
        self.random = random
        self.image = image
        self.topic_name = topic_name
        self.new_shard = new_shard
        self.scheduler = Scheduler()
        self.clock = SimulatedClock(self.scheduler)
        self.topic = SimulatedTopic(partition_count)
        self.nodes = {node_id: CoordinatorNode(self, node_id) for node_id in range(node_count)}
        #: Of requests and of answers.
        self.loss = 0.0
        self.max_delay_ms = 20
        self.max_news_ms = 200
        #: Partitions whose high watermark does not move.
        self.stalled: dict[int, None] = {}
        self._committed = {partition_index: _Committed() for partition_index in self.topic.partitions}
        self.elections = 0
        self.crashes = 0
        for partition_index, partition in self.topic.partitions.items():
            partition.is_held = True
            self.elect(partition_index)

    # Clients

    def ask(
        self,
        partition_index: int,
        operation: Callable[[CoordinatorRuntime[AnyShard]], Reply[Answer]],
        then: Callable[[Answer | ApiError], None],
    ) -> None:
        """Send a request to who leads the partition, or is thought to; `then` is called once."""
        leader = self.topic.partitions[partition_index].leader
        is_known = leader != NOBODY_LEADS and self.random.random() < 0.9
        node = self.nodes[leader if is_known else self.random.choice(list(self.nodes))]
        outcome = _Outcome(then)
        self.scheduler.after(CLIENT_TIMEOUT_MS, lambda: outcome.give(ApiError("late", ErrorCode.REQUEST_TIMED_OUT)))

        def arrive() -> None:
            if node.is_up:
                operation(node.runtime).then(leave)

        def leave(reply: Reply[Answer]) -> None:
            response: Answer | ApiError = reply.error if reply.error is not None else reply.answer()
            self._send(lambda: outcome.give(response))

        self._send(arrive)

    def _send(self, action: Callable[[], None]) -> None:
        if self.random.random() >= self.loss:
            self.scheduler.after(self.random.randint(0, self.max_delay_ms), action)

    # Leadership

    def elect(self, partition_index: int, leader: int | None = None) -> None:
        """Another leader, which has all that is committed and any part of the rest."""
        up = [node.id for node in self.nodes.values() if node.is_up]
        if not up:
            return
        partition, new_leader = (
            self.topic.partitions[partition_index],
            self.random.choice(up) if leader is None else leader,
        )
        previous = self.nodes.get(partition.leader)
        if previous is not None and previous.id == new_leader:
            partition.elect(new_leader)
        else:
            if previous is not None and previous.is_up and partition_index not in previous.log.views:
                # Until it hears of it, it goes on view.
                previous.log.views[partition_index] = view = copy(partition)
                view.batches = list(partition.batches)
            partition.elect(new_leader, self.random.randint(partition.high_watermark, partition.end_offset))
        self.elections += 1
        self.scheduler.trace(
            f"{self.scheduler.now_ms} {partition_index} led by {new_leader} at {partition.leader_epoch}"
        )
        for node in self.nodes.values():
            self._notify(node, partition_index)
        self.appended(partition_index)

    def _notify(self, node: CoordinatorNode[AnyShard], partition_index: int) -> None:
        runtime = node.runtime
        node.news_at_ms = max(node.news_at_ms, self.scheduler.now_ms + self.random.randint(0, self.max_news_ms))

        def hear() -> None:
            if node.is_up and node.runtime is runtime:
                node.apply_leader(partition_index)

        self.scheduler.at(node.news_at_ms, hear)

    def crash(self, node_id: int) -> None:
        """Crash. Other nodes are elected for its partitions; it comes back with `restart`."""
        node = self.nodes[node_id]
        node.crash()
        self.crashes += 1
        self.scheduler.trace(f"{self.scheduler.now_ms} {node_id} crashes")
        for partition_index, partition in self.topic.partitions.items():
            if partition.leader == node_id:
                partition.leader = NOBODY_LEADS
                self.scheduler.after(self.random.randint(1, self.max_news_ms + 1), partial(self._mend, partition_index))

    def restart(self, node_id: int) -> None:
        node = self.nodes[node_id]
        if not node.is_up:
            node.start()
            for partition_index in self.topic.partitions:
                self._mend(partition_index)
                self._notify(node, partition_index)

    def _mend(self, partition_index: int) -> None:
        if self.topic.partitions[partition_index].leader == NOBODY_LEADS:
            self.elect(partition_index)

    # The log

    def appended(self, partition_index: int) -> None:
        """Schedule the commit of the appended batches that are not lost until then."""
        delay_ms = 0 if self.random.random() < 0.3 else self.random.randint(1, 3 * self.max_delay_ms)
        epoch = self.topic.partitions[partition_index].leader_epoch
        self.scheduler.after(delay_ms, lambda: self._commit(partition_index, epoch))

    def resume(self, partition_index: int) -> None:
        self.stalled.pop(partition_index, None)
        self.appended(partition_index)

    def _commit(self, partition_index: int, epoch: int) -> None:
        partition = self.topic.partitions[partition_index]
        if partition_index in self.stalled or partition.leader == NOBODY_LEADS or partition.leader_epoch != epoch:
            return
        if partition.high_watermark < partition.end_offset:
            partition.commit(self._whole_batches(partition))
            if partition.high_watermark < partition.end_offset:
                self.appended(partition_index)
        leader = self.nodes.get(partition.leader)
        if leader is not None and leader.is_up and partition_index not in leader.log.views:
            leader.runtime.high_watermark_moved(partition_index)

    def _whole_batches(self, partition: SimulatedPartition) -> int | None:
        """Return a new high watermark: the end of the log, or the end of an earlier batch."""
        return (
            self.random.choice(partition.ends_above(partition.high_watermark)) if self.random.random() < 0.5 else None
        )

    # Those who look on

    def is_committed(self, partition_index: int, key: bytes, value: bytes | None) -> bool:
        """Return whether the record is in the committed part of the log, which no election can remove."""
        partition, seen = self.topic.partitions[partition_index], self._committed[partition_index]
        for batch in partition.batches_between(seen.end_offset, partition.high_watermark):
            seen.records.update(dict.fromkeys((bytes(record.key or b""), record.value) for record in batch.records()))
            seen.end_offset = batch.next_offset
        return (key, value) in seen.records

    def heal(self) -> None:
        self.loss, self.max_news_ms = 0.0, 20
        for node in self.nodes.values():
            node.log.refusal = None
            self.restart(node.id)
        for partition_index in self.topic.partitions:
            self._mend(partition_index)
            self.resume(partition_index)

    def leader_of(self, partition_index: int) -> CoordinatorNode[AnyShard] | None:
        return self.nodes.get(self.topic.partitions[partition_index].leader)


@dataclass(slots=True)
class _Committed:
    end_offset: int = 0
    records: dict[tuple[bytes, bytes | None], None] = field(default_factory=dict)


class _Outcome(Generic[Answer]):
    """The first of an answer and a time-out."""

    __slots__ = ("_then",)

    def __init__(self, then: Callable[[Answer | ApiError], None]) -> None:
        self._then: Callable[[Answer | ApiError], None] | None = then

    def give(self, outcome: Answer | ApiError) -> None:
        then, self._then = self._then, None
        if then is not None:
            then(outcome)
