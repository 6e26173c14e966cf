"""The simplest coordinator that there is, to see what the runtime does with any: a register for each key, which only
grows, and clients that write to it, alone and in transactions.

A register is an offset of a group without the rules of groups. That it never goes back is checked by `replay`, on live
shards and on loaded ones: an operation that was decided on what another leader has overtaken must not get into the log.
"""

from __future__ import annotations

from random import Random

from odradek.common.failures import ApiError, check
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.runtime.runtime import CoordinatorRuntime
from odradek.coordinator.runtime.serde import encode_key, encode_value
from odradek.coordinator.runtime.shard import CoordinatorRecord, Decision, ShardContext, Writer
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import MetadataImage
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.offset_commit_key import OffsetCommitKey
from odradek.protocol.messages.offset_commit_value import OffsetCommitValue
from odradek.sim.coordinator.cluster import WRITE_TIMEOUT_MS, CoordinatorCluster
from odradek.sim.coordinator.looking import load_anew, shard_of

_SWEEP_MS = 300
SWEEP = "sweep"


def _record(key: str, value: int) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group=key), OffsetCommitValue(offset=value), 4)


class RegisterWorkload:
    def __init__(self, random: Random) -> None:
        self.cluster = CoordinatorCluster(
            Random(random.getrandbits(64)),
            "__consumer_offsets",
            RegisterShard,
            node_count=random.randint(2, 4),
            partition_count=random.randint(1, 3),
        )
        self._clients: list[RegisterClient] = []
        for partition_index in self.cluster.topic.partitions:
            self._clients += [
                RegisterClient(
                    self.cluster, partition_index, f"r{partition_index}-{index}", random.choice((50, 150, 400))
                )
                for index in range(random.randint(1, 3))
            ]
            self._clients.append(
                TransactionalClient(self.cluster, partition_index, f"t{partition_index}", partition_index)
            )

    @property
    def acks(self) -> int:
        return sum(len(client.acked) for client in self._clients)

    def begin(self) -> None:
        for client in self._clients:
            client.next()

    def progress(self) -> list[int]:
        """Return the progress of clients and of timers."""
        return [*map(self._swept, self.cluster.topic.partitions), *(len(client.acked) for client in self._clients)]

    def _swept(self, partition_index: int) -> int:
        leader = self.cluster.leader_of(partition_index)
        return (
            leader.runtime.shard(partition_index).get(SWEEP)
            if leader is not None and leader.runtime.is_active(partition_index)
            else 0
        )

    def stop(self) -> None:
        for client in self._clients:
            client.is_over = True

    def check(self) -> None:
        for partition_index in self.cluster.topic.partitions:
            live, loaded = (
                shard_of(self.cluster, partition_index),
                load_anew(self.cluster, partition_index, RegisterShard),
            )
            check(
                live.values == loaded.values,
                f"{partition_index}: {live.values} is served, {loaded.values} is in the log",
            )
            check(
                live.pending == loaded.pending,
                f"{partition_index}: {live.pending} is open, {loaded.pending} in the log",
            )
        for client in self._clients:
            client.check_final(shard_of(self.cluster, client.partition_index).get(client.key))


class RegisterShard:
    def __init__(self, context: ShardContext) -> None:
        self._context = context
        self.values: dict[str, int] = {}
        #: By producer, of its open transaction.
        self.pending: dict[int, dict[str, int]] = {}

    def put(self, key: str, value: int) -> Decision[int]:
        if self.values.get(key, 0) >= value:
            raise ApiError(f"{key} is {self.values[key]} already", ErrorCode.INVALID_REQUEST)
        return Decision(value, (_record(key, value),))

    def put_pending(self, key: str, value: int) -> Decision[int]:
        return Decision(value, (_record(key, value),))

    def get(self, key: str) -> int:
        return self.values.get(key, 0)

    def replay(self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord) -> None:
        key, value = record.key, record.value
        assert isinstance(key, OffsetCommitKey)
        assert isinstance(value, OffsetCommitValue)
        if producer_id >= 0:
            self.pending.setdefault(producer_id, {})[key.group] = value.offset
            return
        self._grow(key.group, value.offset)

    def _grow(self, key: str, value: int) -> None:
        check(value > self.values.get(key, 0), f"{key} goes from {self.values.get(key)} to {value}")
        self.values[key] = value

    def replay_end_of_transaction(self, producer_id: int, producer_epoch: int, is_committed: bool) -> None:
        for key, value in self.pending.pop(producer_id, {}).items():
            if is_committed:
                self._grow(key, value)

    def on_loaded(self) -> None:
        self._context.timers.schedule(SWEEP, _SWEEP_MS, self._sweep)

    def _sweep(self) -> Decision[None]:
        self._context.timers.schedule(SWEEP, _SWEEP_MS, self._sweep)
        return Decision(None, (_record(SWEEP, self.get(SWEEP) + 1),))

    def on_unloaded(self) -> None:
        """Nobody waits for a register."""

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Registers know nothing of topics."""


class RegisterClient:
    """Writes ever larger values to one key, one after the other."""

    def __init__(
        self, cluster: CoordinatorCluster[RegisterShard], partition_index: int, key: str, pause_ms: int
    ) -> None:
        self.key = key
        self.partition_index = partition_index
        self.acked: list[int] = []
        self._cluster = cluster
        self._pause_ms = pause_ms
        self._value = 0
        self.is_over = False

    def next(self) -> None:
        if self.is_over:
            return
        self._value += 1
        value = self._value
        self._cluster.ask(
            self.partition_index,
            lambda runtime: runtime.write(
                self.partition_index, lambda shard: shard.put(self.key, value), timeout_ms=WRITE_TIMEOUT_MS
            ),
            lambda outcome: self._wrote(value, outcome),
        )

    def _wrote(self, value: int, outcome: int | ApiError) -> None:
        if not isinstance(outcome, ApiError):
            check(outcome == value, f"{self.key}: {value} was written, and {outcome} answered")
            self._check_committed(value)
            self.acked.append(value)
        self._cluster.scheduler.trace(f"{self._cluster.scheduler.now_ms} {self.key} {value} {outcome}")
        self._cluster.scheduler.after(1 + self._cluster.random.randint(0, self._pause_ms), self.next)

    def _check_committed(self, value: int) -> None:
        record = _record(self.key, value)
        is_committed = self._cluster.is_committed(self.partition_index, encode_key(record), encode_value(record))
        check(is_committed, f"{self.key}: {value} was acknowledged, and is not committed")

    def check_final(self, value: int) -> None:
        last = max(self.acked, default=0)
        check(last <= value <= self._value, f"{self.key} is {value}; {last} was acknowledged, {self._value} asked for")


class TransactionalClient(RegisterClient):
    """Client that writes one value in each transaction, and aborts every other one on purpose."""

    def __init__(
        self, cluster: CoordinatorCluster[RegisterShard], partition_index: int, key: str, producer_id: int
    ) -> None:
        super().__init__(cluster, partition_index, key, 100)
        self._writer = Writer(key, producer_id, 0)
        self.aborted: list[int] = []

    def next(self) -> None:
        if self.is_over:
            return
        self._value += 1
        value = self._value
        self._cluster.ask(
            self.partition_index,
            lambda runtime: runtime.write(
                self.partition_index,
                lambda shard: shard.put_pending(self.key, value),
                timeout_ms=WRITE_TIMEOUT_MS,
                writer=self._writer,
            ),
            lambda outcome: self._end(value, not isinstance(outcome, ApiError)),
        )

    def _end(self, value: int, is_written: bool) -> None:
        """End the transaction, with retries: a prepared transaction must be ended."""
        if is_written:
            self._check_committed(value)
        is_commit = is_written and value % 2 == 0

        def end(runtime: CoordinatorRuntime[RegisterShard]) -> Reply[None]:
            return runtime.complete_transaction(
                self.partition_index, self._writer, 0, is_commit, timeout_ms=WRITE_TIMEOUT_MS
            )

        def ended(outcome: ApiError | None) -> None:
            self._cluster.scheduler.trace(f"{self._cluster.scheduler.now_ms} {self.key} {value} ended {outcome}")
            if isinstance(outcome, ApiError):
                self._cluster.scheduler.after(10, ask)
                return
            (self.acked if is_commit else self.aborted).append(value)
            self._cluster.scheduler.after(1 + self._cluster.random.randint(0, self._pause_ms), self.next)

        def ask() -> None:
            self._cluster.ask(self.partition_index, end, ended)

        ask()

    def check_final(self, value: int) -> None:
        super().check_final(value)
        check(value not in self.aborted, f"{self.key} is {value}, which was aborted")
