"""Core of the controller: operations in, appends and results out, one at a time.

A driver calls it from one thread:

* `handle` or `submit` for each request. It is decided immediately against the latest state, committed or not; its
  records are replayed and returned as appends, which the driver must pass to Raft before anything else. The result is
  parked until the records are committed.
* `committed` with each batch that the quorum has committed. On the active controller it releases parked results; on a
  standby it replays the records.
* `leader_changed` when Raft reports the leader. Becoming active writes the records that a new cluster or an open
  transaction needs; losing the leadership fails all parked results and reverts uncommitted records.
* `tick` at or after `deadline_ms`: stale brokers, idle records, leader balancing.
* `take_results` after each of them.

Every result waits for all records decided before it, even if it has no records of its own: it may be based on them.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from odradek.common.failures import ApiError, Fault, check
from odradek.common.ports import Clock
from odradek.common.randomness import Randomness
from odradek.controller.activation import activation_records
from odradek.controller.cluster_control import RegistrationState
from odradek.controller.controls import Controls, ControlSettings
from odradek.controller.decision import Batches, ControllerDecision, RequestRejected, batches
from odradek.controller.operations import OperationContext, decide
from odradek.controller.performance import Performance, SlowEvent
from odradek.controller.periodic_tasks import PeriodicTasks
from odradek.metadata.image.image import MetadataProvenance
from odradek.metadata.publishing.loader import MetadataBatch, MetadataLoader
from odradek.metadata.publishing.publisher import LeaderAndEpoch
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.no_op_record import NoOpRecord

logger = logging.getLogger("odradek.controller")

NOT_ACTIVE = -1


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    controls: ControlSettings
    #: Records that the cluster was formatted with: features, perhaps credentials.
    bootstrap: Sequence[MetadataRecord] = ()
    #: `metadata.max.idle.interval.ms`: interval of no-op records, which show followers progress. None: disabled.
    max_idle_interval_ms: int | None = 500
    #: `leader.imbalance.check.interval.seconds`, None if `auto.leader.rebalance.enable` is false.
    leader_imbalance_check_ms: int | None = 300_000
    #: `unclean.leader.election.interval.ms`
    unclean_election_check_ms: int | None = 300_000


@dataclass(frozen=True, slots=True)
class Append:
    """One batch for the metadata log; its first record must get `base_offset`."""

    epoch: int
    base_offset: int
    records: Sequence[MetadataRecord]
    #: The encoded records.
    values: Sequence[bytes]

    @property
    def last_offset(self) -> int:
        return self.base_offset + len(self.records) - 1


class OperationResult(NamedTuple):
    """Result of a submission: `response`, or `error` if the request was rejected."""

    id: int
    response: Any
    error: ApiError | None


@dataclass(frozen=True, slots=True)
class Submission:
    id: int
    appends: Sequence[Append]


class _Parked(NamedTuple):
    offset: int
    id: int
    response: Any


@dataclass(slots=True)
class _Offsets:
    next_write: int = 0
    last_committed: int = -1
    parked: deque[_Parked] = field(default_factory=deque)

    def move_end(self, log_end_offset: int) -> None:
        self.next_write = log_end_offset

    def commit(self, offset: int) -> None:
        self.last_committed = offset

    def revert(self, image_offset: int) -> None:
        self.last_committed = max(self.last_committed, image_offset)
        self.next_write = self.last_committed + 1


class QuorumController:
    def __init__(
        self, node_id: int, settings: ControllerSettings, random: Randomness, loader: MetadataLoader, clock: Clock
    ) -> None:
        """`loader` has the committed image, from which a deposed controller rebuilds its state."""
        self.node_id = node_id
        self.loader = loader
        self.controls = Controls(settings.controls, random)
        self.performance = Performance()
        #: Slow events since the driver last logged them.
        self.slow_events: list[SlowEvent] = []
        self.leader_and_epoch = LeaderAndEpoch()
        self._settings = settings
        self._random = random
        self._clock = clock
        self._active_epoch = NOT_ACTIVE
        self._offsets = _Offsets()
        self._results: list[OperationResult] = []
        self._next_id = 0
        self._tasks = PeriodicTasks()
        self._add_tasks()

    @property
    def is_active(self) -> bool:
        return self._active_epoch != NOT_ACTIVE

    @property
    def last_committed_offset(self) -> int:
        return self._offsets.last_committed

    @property
    def next_write_offset(self) -> int:
        return self._offsets.next_write

    @property
    def deadline_ms(self) -> int | None:
        """Time of the next `tick` at the latest; None on a standby."""
        if not self.is_active:
            return None
        cluster = self.controls.cluster
        stale_ms = cluster.heartbeats.deadline_ms(cluster.unfenced_ids())
        return min((ms for ms in (stale_ms, self._tasks.deadline_ms) if ms is not None), default=None)

    # Operations

    def handle(self, request: Message, *, created_ms: int | None = None, deadline_ms: int | None = None) -> Submission:
        """Handle a request of a type in `operations`; its result has the response message."""
        if isinstance(request, BrokerHeartbeatRequest):
            return self._heartbeat(request, created_ms, deadline_ms)
        name = type(request).__name__.removesuffix("Request")
        context = OperationContext(self._clock.monotonic_ms(), self._offsets.next_write)
        return self.submit(
            name,
            lambda controls: decide(controls, request, context),
            created_ms=created_ms,
            deadline_ms=deadline_ms,
        )

    def connection_lost(self, broker_id: int, broker_epoch: int) -> None:
        """Note that the connection of a broker's heartbeats was lost; see `heartbeats`."""
        self.controls.cluster.heartbeats.connection_lost(broker_id, broker_epoch, self._clock.monotonic_ms())

    def submit(
        self,
        name: str,
        operation: Callable[[Controls], ControllerDecision[Any]],
        *,
        created_ms: int | None = None,
        deadline_ms: int | None = None,
        on_appended: Callable[[int], None] | None = None,
    ) -> Submission:
        """Decide an operation. `created_ms` is the time of the request; after `deadline_ms` its client has given up.

        `on_appended` gets the last offset that the operation depends on; it may change soft state only.
        """
        self._next_id += 1
        submission_id, started_ms = self._next_id, self._clock.monotonic_ms()
        try:
            decision = self._decide(operation, started_ms, deadline_ms)
            encoded = batches(decision)
        except ApiError as error:
            self._results.append(OperationResult(submission_id, None, error))
            return Submission(submission_id, ())
        except Fault:
            raise
        except Exception:
            # Nothing has been replayed: the state is consistent, and only this request fails.
            logger.exception("%s failed unexpectedly", name)
            failure = ApiError("The controller failed unexpectedly", ErrorCode.UNKNOWN_SERVER_ERROR)
            self._results.append(OperationResult(submission_id, None, failure))
            return Submission(submission_id, ())
        appends = self._append(encoded)
        if on_appended is not None:
            on_appended(self._offsets.next_write - 1)
        self._park(submission_id, decision.response)
        self._measure(name, started_ms if created_ms is None else created_ms, started_ms)
        return Submission(submission_id, appends)

    def _heartbeat(
        self, request: BrokerHeartbeatRequest, created_ms: int | None, deadline_ms: int | None
    ) -> Submission:
        """Handle a heartbeat. It counts as contact whatever is decided, even if it is too late for a response."""
        cluster = self.controls.cluster
        broker = cluster.brokers.get(request.broker_id)
        if broker is not None and broker.epoch == request.broker_epoch:
            now_ms = self._clock.monotonic_ms()
            cluster.heartbeats.record_heartbeat(broker.id, broker.epoch, now_ms, request.current_metadata_offset)

        def note_shutdown(offset: int) -> None:
            state = cluster.state(request.broker_id)
            if state is RegistrationState.STOPPING:
                cluster.heartbeats.start_shutdown(request.broker_id, offset)
            elif state is RegistrationState.FENCED and request.want_shut_down:
                # It stops now. Its next process must not wait for the end of this session.
                cluster.heartbeats.forget(request.broker_id)

        return self.submit(
            "BrokerHeartbeat",
            lambda controls: controls.election.heartbeat(request),
            created_ms=created_ms,
            deadline_ms=deadline_ms,
            on_appended=note_shutdown,
        )

    def take_results(self) -> list[OperationResult]:
        results, self._results = self._results, []
        return results

    def _decide(
        self, operation: Callable[[Controls], ControllerDecision[Any]], now_ms: int, deadline_ms: int | None
    ) -> ControllerDecision[Any]:
        if not self.is_active:
            raise self._not_controller()
        if deadline_ms is not None and now_ms > deadline_ms:
            self.performance.record_timeout()
            raise RequestRejected(ErrorCode.REQUEST_TIMED_OUT)
        return operation(self.controls)

    def _append(self, encoded: Batches) -> list[Append]:
        """Replay encoded records. All of them can be written: the state must not be ahead of the log."""
        appends = []
        for records, values in encoded:
            append = Append(self._active_epoch, self._offsets.next_write, records, values)
            for index, record in enumerate(records):
                self.controls.replay(record.message, append.base_offset + index)
            self._offsets.move_end(append.last_offset + 1)
            appends.append(append)
        return appends

    def _park(self, submission_id: int, response: Any) -> None:
        last_offset = self._offsets.next_write - 1
        if last_offset <= self._offsets.last_committed:
            self._results.append(OperationResult(submission_id, response, None))
        else:
            self._offsets.parked.append(_Parked(last_offset, submission_id, response))

    def _measure(self, name: str, created_ms: int, started_ms: int) -> None:
        elapsed_ms = self._clock.monotonic_ms() - started_ms
        slow = self.performance.record(name, started_ms - created_ms, elapsed_ms)
        if slow is not None:
            self.slow_events.append(slow)

    # The log

    def committed(self, batches: Iterable[MetadataBatch], high_watermark: int | None = None) -> None:
        batches = list(batches)
        self.loader.load_batches(batches, high_watermark)
        for batch in batches:
            self._offsets.commit(batch.last_offset)
            if not self.is_active:
                for index, record in enumerate(batch.records):
                    self.controls.replay(record.message, batch.base_offset + index)
                self._offsets.move_end(batch.last_offset + 1)
        self._release()

    def load_snapshot(
        self, provenance: MetadataProvenance, records: Iterable[MetadataRecord], high_watermark: int | None = None
    ) -> None:
        check(not self.is_active, "the active controller has the complete log and loads no snapshot")
        self.loader.load_snapshot(provenance, records, high_watermark)
        self._revert()

    def log_end_moved(self, log_end_offset: int) -> None:
        """Note control records of Raft (of a new leader or a change of voters): the next records come after them."""
        check(log_end_offset >= self._offsets.next_write, "the log ends before what this controller has written")
        self._offsets.move_end(log_end_offset)

    def _release(self) -> None:
        parked = self._offsets.parked
        while parked and parked[0].offset <= self._offsets.last_committed:
            _, submission_id, response = parked.popleft()
            self._results.append(OperationResult(submission_id, response, None))

    # Leadership

    def leader_changed(self, leader_and_epoch: LeaderAndEpoch, log_end_offset: int) -> Sequence[Append]:
        """Become active or standby. All commits before a leadership of this node must have been delivered."""
        self.leader_and_epoch = leader_and_epoch
        self.loader.controller_changed(leader_and_epoch)
        if leader_and_epoch.leader_id == self.node_id:
            return self._become_active(leader_and_epoch.epoch, log_end_offset)
        if self.is_active:
            self._become_standby()
        return ()

    def _become_active(self, epoch: int, log_end_offset: int) -> Sequence[Append]:
        if self.is_active:
            self._active_epoch = epoch
            return ()
        now_ms = self._clock.monotonic_ms()
        self._active_epoch = epoch
        self._offsets.move_end(log_end_offset)
        self.controls.cluster.activate(now_ms)
        self._tasks.activate(now_ms)
        return self._append(batches(activation_records(self.controls, self._settings.bootstrap)))

    def _become_standby(self) -> None:
        error = self._not_controller()
        self._active_epoch = NOT_ACTIVE
        self._results += [OperationResult(parked.id, None, error) for parked in self._offsets.parked]
        self._offsets.parked.clear()
        self._revert()

    def _revert(self) -> None:
        """Rebuild the state from the committed image. Soft state of the lost leadership is dropped too."""
        image = self.loader.image
        self.controls = Controls.from_image(self._settings.controls, self._random, image)
        for record, offset in self.loader.open_transaction:
            self.controls.replay(record, offset)
        self._offsets.revert(image.offset)

    def _not_controller(self) -> RequestRejected:
        leader = self.leader_and_epoch.leader_id
        if leader is None or leader == self.node_id:
            return RequestRejected(ErrorCode.NOT_CONTROLLER, "No controller appears to be active.")
        return RequestRejected(ErrorCode.NOT_CONTROLLER, f"The active controller appears to be node {leader}.")

    # Time

    def tick(self, now_ms: int) -> Sequence[Append]:
        """Run everything that is due. Its decisions have no request, so they have no result."""
        appends: list[Append] = []
        if not self.is_active:
            return appends
        while True:
            fencing = self.controls.election.fence_stale_broker(now_ms)
            if fencing.response is None:
                break
            appends += self._append(batches(fencing))
        for task in self._tasks.due(now_ms):
            decision = task.run(now_ms)
            appends += self._append(batches(decision))
            task.schedule(now_ms, again=bool(decision.response))
        return appends

    def _add_tasks(self) -> None:
        settings, add = self._settings, self._tasks.add
        no_op = ControllerDecision([MetadataRecord(NoOpRecord(), 0)], False)
        add("writeNoOpRecord", lambda _: no_op, settings.max_idle_interval_ms)
        add("electPreferred", lambda _: self.controls.election.balance_leaders(), settings.leader_imbalance_check_ms)
        add(
            "electUnclean",
            lambda _: self.controls.election.elect_unclean_leaders(),
            settings.unclean_election_check_ms,
        )
