"""All replicas of this broker: the objects that handlers and drivers use, built together by `build_replicas`.

Handlers use `produce`, `fetch`, `offsets`, `deletion`, `verification`, `description`. Produce, Fetch and DeleteRecords
respond through a callback, which is called once: before the method returns, or later from `tick`, from another
request, or from a metadata change. Callbacks that are called later must not raise.

Drivers call `metadata.apply_in_steps` for each new metadata image and `tick` at `deadline_ms` or later, and send the
requests of `alter_partition` (to the controller) and of `fetchers` (to other brokers). `view.set_broker_epoch` must be
called when the broker has registered. Nothing here waits, and nothing here knows connections.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from odradek.common.ports import Clock
from odradek.log.errors import DamagedFile
from odradek.log.manager.log_manager import LogManager
from odradek.replica.alter_partition import AlterPartitionOutbox
from odradek.replica.cluster_view import ClusterView
from odradek.replica.controller_contact import ControllerContact
from odradek.replica.fetch import FetchOperations
from odradek.replica.fetch_sessions import FetchSessions
from odradek.replica.follower_fetchers import FollowerFetchers
from odradek.replica.hosted_partitions import HostedPartitions
from odradek.replica.log_dir_moves import LogDirMoves
from odradek.replica.log_lines import PartitionLogLines
from odradek.replica.metadata_applier import MetadataApplier
from odradek.replica.offset_lookups import OffsetLookups
from odradek.replica.partition_leader import PartitionDependencies, PartitionLeader
from odradek.replica.produce import ProduceOperations
from odradek.replica.purgatory import Purgatories
from odradek.replica.record_deletion import RecordDeletion
from odradek.replica.replica_description import ReplicaDescription
from odradek.replica.replica_failures import ReplicaFailures, ReportDirectory
from odradek.replica.replication_quota import ReplicationQuota
from odradek.replica.settings import ReplicaSettings
from odradek.replica.startup_logs import StartupLogs
from odradek.replica.transaction_verification import TransactionVerification


class IsrMonitor:
    """Removes followers from the ISR that have been behind for too long, and finds damaged logs of followers."""

    def __init__(
        self, partitions: HostedPartitions, failures: ReplicaFailures, settings: ReplicaSettings, clock: Clock
    ) -> None:
        self._partitions = partitions
        self._failures = failures
        self._interval_ms = settings.isr_check_interval_ms
        #: Time of the next check.
        self.deadline_ms = clock.monotonic_ms() + self._interval_ms

    def tick(self, now_ms: int) -> None:
        if now_ms < self.deadline_ms:
            return
        self.deadline_ms = now_ms + self._interval_ms
        for partition in list(self._partitions.online.values()):
            log = partition.log
            if log is not None and isinstance(log.health.fault, DamagedFile):
                self._failures.log_failed(partition.topic_partition, log.health.fault)
            if isinstance(partition.role, PartitionLeader):
                partition.role.maybe_shrink_isr(now_ms)


@dataclass(frozen=True, slots=True)
class BrokerReplicas:
    view: ClusterView
    logs: LogManager
    partitions: HostedPartitions
    purgatories: Purgatories
    failures: ReplicaFailures
    #: The lease that acknowledged heartbeats give this broker.
    contact: ControllerContact
    #: ISR changes to be sent to the controller.
    alter_partition: AlterPartitionOutbox
    isr_monitor: IsrMonitor
    fetchers: FollowerFetchers
    #: Replicas being moved to another log directory. The driver calls `step` while there are any.
    log_dir_moves: LogDirMoves
    #: `leader.replication.throttled.rate` and `follower.replication.throttled.rate`.
    leader_quota: ReplicationQuota
    follower_quota: ReplicationQuota
    metadata: MetadataApplier
    fetch_sessions: FetchSessions
    produce: ProduceOperations
    fetch: FetchOperations
    offsets: OffsetLookups
    deletion: RecordDeletion
    verification: TransactionVerification
    description: ReplicaDescription

    @property
    def deadline_ms(self) -> int:
        """Time at which `tick` must be called next; outgoing requests have deadlines of their own."""
        deadline_ms = self.purgatories.deadline_ms
        isr_check_ms = self.isr_monitor.deadline_ms
        return isr_check_ms if deadline_ms is None or isr_check_ms < deadline_ms else deadline_ms

    def tick(self, now_ms: int) -> None:
        """Complete the requests whose deadline has passed, and check the ISRs."""
        self.purgatories.expire(now_ms)
        self.isr_monitor.tick(now_ms)


def build_replicas(
    broker_id: int,
    clock: Clock,
    logs: LogManager,
    settings: ReplicaSettings,
    *,
    report_directory: ReportDirectory,
    new_session_id: Callable[[], int],
) -> BrokerReplicas:
    """Build the replicas over loaded `logs`. `report_directory` notifies the controller; once it has agreed, the driver
    calls `log_dir_moves.assignment_accepted`. `new_session_id` draws a random positive 31-bit number."""
    view = ClusterView(broker_id)
    partitions, purgatories = HostedPartitions(view), Purgatories()
    contact = ControllerContact(settings.broker_session_timeout_ms)
    alter_partition = AlterPartitionOutbox(broker_id, lambda: view.broker_epoch)
    failures = ReplicaFailures(view, logs, partitions, purgatories, report_directory)
    lines = PartitionLogLines(logging.getLogger("odradek.replica"))
    leader_quota = ReplicationQuota(broker_id, settings.replication_quota_windows)
    follower_quota = ReplicationQuota(broker_id, settings.replication_quota_windows)
    fetchers = FollowerFetchers(view, clock, settings, partitions, purgatories.fetch, failures, follower_quota)
    moves = LogDirMoves(view, clock, settings, logs, partitions, purgatories, failures, report_directory)
    dependencies = PartitionDependencies(
        view,
        clock,
        logs,
        contact,
        alter_partition,
        lines,
        settings.replica_lag_time_max_ms,
        purgatories.check_waiting,
    )
    metadata = MetadataApplier(
        dependencies,
        partitions,
        purgatories,
        failures,
        fetchers,
        moves,
        StartupLogs(view, logs, lines),
        report_directory,
    )
    return BrokerReplicas(
        view=view,
        logs=logs,
        partitions=partitions,
        purgatories=purgatories,
        failures=failures,
        contact=contact,
        alter_partition=alter_partition,
        isr_monitor=IsrMonitor(partitions, failures, settings, clock),
        fetchers=fetchers,
        log_dir_moves=moves,
        leader_quota=leader_quota,
        follower_quota=follower_quota,
        metadata=metadata,
        fetch_sessions=FetchSessions(settings.max_incremental_fetch_session_cache_slots, clock, new_session_id),
        produce=ProduceOperations(partitions, purgatories, failures, contact, clock),
        fetch=FetchOperations(
            view,
            partitions,
            purgatories,
            failures,
            contact,
            leader_quota,
            clock,
            is_rack_aware=settings.is_rack_aware,
        ),
        offsets=OffsetLookups(partitions, failures),
        deletion=RecordDeletion(partitions, purgatories, failures, clock),
        verification=TransactionVerification(partitions),
        description=ReplicaDescription(partitions, logs),
    )
