"""Admin client: the operations of Kafka's Admin, by the same names.

    async with Admin(bootstrap_servers="localhost:9092") as admin:
        await admin.create_topics([NewTopic("orders", partitions=3)])
        offsets = await admin.list_offsets({TopicPartition("orders", 0): OffsetSpec.LATEST})

An operation on several resources returns a value for each. If the only resource is rejected, `Refused` is raised with
Kafka's error code; if some of several are rejected, `PartlyRefused`, whose `outcomes` has the result of each. Changes
are sent once: after a broken connection it is unknown whether they were made (`Unreachable`).

With `bootstrap_controllers` requests go to the controllers, for the operations that they serve: quorum, features,
unregistering brokers.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import IntEnum
from typing import Unpack

from odradek.client.admin.cluster import NodesDescription
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.configs import ConfigChange, ConfigEntry, ConfigResource
from odradek.client.admin.features import Features, FeatureUpdate
from odradek.client.admin.groups import GroupDescription, GroupListing, MemberToRemove
from odradek.client.admin.log_dirs import LogDir, Replica, ReplicaLogDir
from odradek.client.admin.operations import AdminOperations
from odradek.client.admin.partitions import ElectionType, OffsetAndTimestamp
from odradek.client.admin.quorum import QuorumDescription, VoterEndpoint
from odradek.client.admin.quotas import QuotaEntity, QuotaFilter, ScramCredential
from odradek.client.admin.reassignments import Reassignment
from odradek.client.admin.topics import CreatedTopic, NewTopic, TopicDescription, TopicListing
from odradek.client.admin.transactions import (
    ProducerIdAndEpoch,
    ProducerState,
    TransactionDescription,
    TransactionListing,
)
from odradek.client.async_context import AsyncContext
from odradek.client.net.config import ClientConfig
from odradek.client.net.connections import channel_config
from odradek.client.settings.settings import admin_settings
from odradek.client.settings.typed_dicts import AdminSettings
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common import list_offsets_timestamps
from odradek.common.failures import InputError
from odradek.errors import RequestTimedOut
from odradek.protocol.config_types import ConfigResourceType


class OffsetSpec(IntEnum):
    """Offset to list, instead of the first one at or after a timestamp."""

    EARLIEST = list_offsets_timestamps.EARLIEST
    LATEST = list_offsets_timestamps.LATEST
    #: Offset of the record with the latest timestamp.
    MAX_TIMESTAMP = list_offsets_timestamps.MAX_TIMESTAMP
    EARLIEST_LOCAL = list_offsets_timestamps.EARLIEST_LOCAL
    LATEST_TIERED = list_offsets_timestamps.LATEST_TIERED
    EARLIEST_PENDING_UPLOAD = list_offsets_timestamps.EARLIEST_PENDING_UPLOAD


class Admin(AsyncContext):
    """Describes and changes a cluster, for asyncio.

        async with Admin(bootstrap_servers="localhost:9092") as admin:
            await admin.create_topics([NewTopic("orders", partitions=3)])

    Instead of `async with`, `start` and `close` can be called. An instance belongs to one event loop.
    """

    def __init__(self, config: Mapping[str, object] | None = None, **settings: Unpack[AdminSettings]) -> None:
        """Settings have Kafka's names: in a dict, or as keywords with underscores. Raises InputError."""
        parsed = self.settings = admin_settings(config, **settings)
        self._router = ClusterRouter(
            parsed.bootstrap_servers or parsed.bootstrap_controllers,
            ClientConfig(channel_config(parsed), parsed.request_timeout_ms, parsed.default_api_timeout_ms),
            are_controllers=bool(parsed.bootstrap_controllers),
        )
        self._operations = AdminOperations(self._router)
        self._is_running = False

    async def start(self) -> None:
        """Connect to the cluster. Raises Unreachable with each address and its error."""
        try:
            await self._router.any_node()
        except BaseException:
            await self._router.close()
            raise
        self._is_running = True

    async def close(self, timeout_ms: float | None = None) -> None:
        """Close the connections at once: it waits for no broker, whatever `timeout_ms`. May be called twice."""
        self._is_running = False
        await self._router.close()

    @asynccontextmanager
    async def _limited(self, timeout_ms: float | None) -> AsyncIterator[AdminOperations]:
        """Yield the operations for one call. Raises RequestTimedOut when it has taken longer than the timeout."""
        if not self._is_running:
            raise InputError('the admin client is not running: use it in a "with" statement, or call start() first')
        limit_ms = self.settings.default_api_timeout_ms if timeout_ms is None else timeout_ms
        try:
            async with asyncio.timeout(limit_ms / 1000):
                yield self._operations
        except TimeoutError:
            raise RequestTimedOut(
                f"no response within {limit_ms:g} ms; it is unknown whether the operation was carried out"
            ) from None

    # Topics

    async def create_topics(
        self, topics: Iterable[NewTopic | str], *, validate_only: bool = False, timeout_ms: float | None = None
    ) -> dict[str, CreatedTopic]:
        """Create topics. For one given by its name alone, the cluster chooses everything else."""
        new_topics = [NewTopic(topic) if isinstance(topic, str) else topic for topic in topics]
        async with self._limited(timeout_ms) as admin:
            return (await admin.topics.create(new_topics, validate_only=validate_only)).values_or_raise()

    async def delete_topics(self, names: Iterable[str], *, timeout_ms: float | None = None) -> None:
        async with self._limited(timeout_ms) as admin:
            (await admin.topics.delete(list(names))).values_or_raise()

    async def list_topics(self, *, timeout_ms: float | None = None) -> list[TopicListing]:
        """Return the topics that the client may describe, internal ones included, by name."""
        async with self._limited(timeout_ms) as admin:
            return await admin.topics.list_all()

    async def describe_topics(
        self, names: Iterable[str], *, timeout_ms: float | None = None
    ) -> dict[str, TopicDescription]:
        async with self._limited(timeout_ms) as admin:
            return (await admin.topics.describe(list(names))).values_or_raise()

    async def create_partitions(
        self,
        counts: Mapping[str, int],
        assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
        *,
        validate_only: bool = False,
        timeout_ms: float | None = None,
    ) -> None:
        """Add partitions. `counts` are the new totals; `assignments` lists the brokers of each partition to add."""
        async with self._limited(timeout_ms) as admin:
            outcomes = await admin.topics.create_partitions(counts, assignments, validate_only=validate_only)
            outcomes.values_or_raise()

    # Partitions

    async def list_offsets(
        self,
        specs: Mapping[TopicPartition, int],
        *,
        read_committed: bool = False,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """Return the first offset at or after a timestamp (ms since 1970), or the offset of an OffsetSpec."""
        timestamps = {TopicPartition(*partition): int(spec) for partition, spec in specs.items()}
        async with self._limited(timeout_ms) as admin:
            outcomes = await admin.partitions.list_offsets(timestamps, read_committed=read_committed)
            return outcomes.values_or_raise()

    async def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """Delete all records before these offsets, or all with HIGH_WATERMARK. Return the new log start offsets."""
        offsets = {TopicPartition(*partition): offset for partition, offset in before.items()}
        async with self._limited(timeout_ms) as admin:
            return (await admin.partitions.delete_records(offsets)).values_or_raise()

    async def elect_leaders(
        self,
        election_type: ElectionType = ElectionType.PREFERRED,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, bool]:
        """Elect leaders of these partitions, or of all that need it. The value is false if no election was needed."""
        async with self._limited(timeout_ms) as admin:
            outcomes = await admin.partitions.elect_leaders(election_type, _partitions_or_all(partitions))
            return outcomes.values_or_raise()

    async def alter_partition_reassignments(
        self, targets: Mapping[TopicPartition, Sequence[int] | None], *, timeout_ms: float | None = None
    ) -> None:
        """Start to move each partition to these brokers; None cancels a reassignment in progress."""
        replicas = {TopicPartition(*partition): broker_ids for partition, broker_ids in targets.items()}
        async with self._limited(timeout_ms) as admin:
            (await admin.reassignments.alter(replicas)).values_or_raise()

    async def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None, *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, Reassignment]:
        """Return the reassignments in progress, of these partitions or of all."""
        async with self._limited(timeout_ms) as admin:
            return await admin.reassignments.list_in_progress(_partitions_or_all(partitions))

    async def describe_producers(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, tuple[ProducerState, ...]]:
        """Return the idempotent and transactional producers that the leaders of the partitions remember."""
        async with self._limited(timeout_ms) as admin:
            return (await admin.transactions.describe_producers(_partitions(partitions))).values_or_raise()

    # Log directories

    async def describe_log_dirs(
        self,
        broker_ids: Iterable[int] | None = None,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> dict[int, tuple[LogDir, ...]]:
        """Return the directories of these brokers, or of all, with the replicas of these partitions, or of all."""
        brokers = None if broker_ids is None else list(broker_ids)
        async with self._limited(timeout_ms) as admin:
            return (await admin.log_dirs.describe(brokers, _partitions_or_all(partitions))).values_or_raise()

    async def describe_replica_log_dirs(
        self, replicas: Iterable[Replica], *, timeout_ms: float | None = None
    ) -> dict[Replica, ReplicaLogDir]:
        """Return the directories of these replicas. Replicas that no running broker has are left out."""
        async with self._limited(timeout_ms) as admin:
            return await admin.log_dirs.describe_replicas(Replica(*replica) for replica in replicas)

    async def alter_replica_log_dirs(self, targets: Mapping[Replica, str], *, timeout_ms: float | None = None) -> None:
        """Start to move each replica to a directory of its broker."""
        paths = {Replica(*replica): path for replica, path in targets.items()}
        async with self._limited(timeout_ms) as admin:
            (await admin.log_dirs.alter_replicas(paths)).values_or_raise()

    # Settings

    async def describe_configs(
        self, resources: Iterable[ConfigResource], *, timeout_ms: float | None = None
    ) -> dict[ConfigResource, Mapping[str, ConfigEntry]]:
        async with self._limited(timeout_ms) as admin:
            return (await admin.configs.describe(list(resources))).values_or_raise()

    async def incremental_alter_configs(
        self,
        changes: Mapping[ConfigResource, Sequence[ConfigChange]],
        *,
        validate_only: bool = False,
        timeout_ms: float | None = None,
    ) -> None:
        """Make all changes of a resource, or none of them."""
        async with self._limited(timeout_ms) as admin:
            (await admin.configs.alter(changes, validate_only=validate_only)).values_or_raise()

    async def list_config_resources(
        self, types: Iterable[ConfigResourceType] = (), *, timeout_ms: float | None = None
    ) -> list[ConfigResource]:
        """Return the resources of these types, or of all types, that can have settings."""
        async with self._limited(timeout_ms) as admin:
            return await admin.configs.list_resources(list(types))

    async def list_client_metrics_resources(self, *, timeout_ms: float | None = None) -> list[str]:
        """Return the names of subscriptions to clients' metrics."""
        resources = await self.list_config_resources([ConfigResourceType.CLIENT_METRICS], timeout_ms=timeout_ms)
        return [resource.name for resource in resources]

    async def describe_client_quotas(
        self, quota_filter: QuotaFilter | None = None, *, timeout_ms: float | None = None
    ) -> dict[QuotaEntity, dict[str, float]]:
        """Return quotas by entity: pairs of type (user, client-id, ip) and name; None is the default of the type."""
        async with self._limited(timeout_ms) as admin:
            return await admin.quotas.describe(quota_filter)

    async def alter_client_quotas(
        self,
        changes: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        timeout_ms: float | None = None,
    ) -> None:
        """Set quotas; None removes a quota."""
        async with self._limited(timeout_ms) as admin:
            (await admin.quotas.alter(changes, validate_only=validate_only)).values_or_raise()

    async def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None, *, timeout_ms: float | None = None
    ) -> dict[str, tuple[ScramCredential, ...]]:
        """Return the credentials of these users, or of all users that have any."""
        names = None if users is None else list(users)
        async with self._limited(timeout_ms) as admin:
            return (await admin.quotas.describe_scram_credentials(names)).values_or_raise()

    # Groups

    async def list_groups(
        self, *, states: Iterable[str] = (), types: Iterable[str] = (), timeout_ms: float | None = None
    ) -> list[GroupListing]:
        """Return groups of all types, or of these types (classic, consumer, …), by name."""
        async with self._limited(timeout_ms) as admin:
            return await admin.groups.list_all(states, types)

    async def describe_consumer_groups(
        self, group_ids: Iterable[str], *, timeout_ms: float | None = None
    ) -> dict[str, GroupDescription]:
        """Describe groups of consumers, of both protocols."""
        async with self._limited(timeout_ms) as admin:
            return (await admin.groups.describe(list(group_ids))).values_or_raise()

    async def describe_classic_groups(
        self, group_ids: Iterable[str], *, timeout_ms: float | None = None
    ) -> dict[str, GroupDescription]:
        async with self._limited(timeout_ms) as admin:
            return (await admin.groups.describe_classic(list(group_ids))).values_or_raise()

    async def delete_consumer_groups(self, group_ids: Iterable[str], *, timeout_ms: float | None = None) -> None:
        async with self._limited(timeout_ms) as admin:
            (await admin.groups.delete(list(group_ids))).values_or_raise()

    async def list_consumer_group_offsets(
        self, group_ids: Iterable[str], *, require_stable: bool = False, timeout_ms: float | None = None
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
        """Return all committed offsets of each group."""
        async with self._limited(timeout_ms) as admin:
            outcomes = await admin.group_offsets.list_committed(list(group_ids), require_stable=require_stable)
        return {group_id: offsets.values_or_raise() for group_id, offsets in outcomes.values_or_raise().items()}

    async def alter_consumer_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata],
        *,
        timeout_ms: float | None = None,
    ) -> None:
        """Commit offsets for a group that has no members."""
        targets = {TopicPartition(*partition): offset for partition, offset in offsets.items()}
        async with self._limited(timeout_ms) as admin:
            (await admin.group_offsets.alter(group_id, targets)).values_or_raise()

    async def delete_consumer_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], *, timeout_ms: float | None = None
    ) -> None:
        """Delete offsets of topics that the group is not subscribed to."""
        async with self._limited(timeout_ms) as admin:
            (await admin.group_offsets.delete(group_id, _partitions(partitions))).values_or_raise()

    async def remove_members_from_consumer_group(
        self,
        group_id: str,
        members: Iterable[MemberToRemove] | None = None,
        *,
        reason: str | None = None,
        timeout_ms: float | None = None,
    ) -> None:
        """Remove these members of a classic group, or all of them."""
        to_remove = list(members) if members is not None else await self._members(group_id, timeout_ms)
        if to_remove:
            async with self._limited(timeout_ms) as admin:
                (await admin.groups.remove_members(group_id, to_remove, reason)).values_or_raise()

    async def _members(self, group_id: str, timeout_ms: float | None) -> list[MemberToRemove]:
        """Return all members of a group: static ones by instance id, since they rejoin with another member id."""
        (group,) = (await self.describe_classic_groups([group_id], timeout_ms=timeout_ms)).values()
        return [
            MemberToRemove(instance_id=member.instance_id) if member.instance_id else MemberToRemove(member.member_id)
            for member in group.members
        ]

    # Transactions

    async def list_transactions(
        self,
        *,
        states: Iterable[str] = (),
        producer_ids: Iterable[int] = (),
        longer_than_ms: int = -1,
        timeout_ms: float | None = None,
    ) -> list[TransactionListing]:
        async with self._limited(timeout_ms) as admin:
            return await admin.transactions.list_all(states, producer_ids, longer_than_ms)

    async def describe_transactions(
        self, transactional_ids: Iterable[str], *, timeout_ms: float | None = None
    ) -> dict[str, TransactionDescription]:
        async with self._limited(timeout_ms) as admin:
            return (await admin.transactions.describe(list(transactional_ids))).values_or_raise()

    async def abort_transaction(
        self,
        partition: TopicPartition,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        *,
        timeout_ms: float | None = None,
    ) -> None:
        """Abort a transaction in one partition without its coordinator: for one that no coordinator will end."""
        async with self._limited(timeout_ms) as admin:
            outcomes = await admin.transactions.abort_in_partition(
                TopicPartition(*partition), producer_id, producer_epoch, coordinator_epoch
            )
            outcomes.values_or_raise()

    async def fence_producers(
        self, transactional_ids: Iterable[str], *, timeout_ms: float | None = None
    ) -> dict[str, ProducerIdAndEpoch]:
        """Fence the producers with these transactional ids, and abort their open transactions."""
        async with self._limited(timeout_ms) as admin:
            return (await admin.transactions.fence_producers(list(transactional_ids))).values_or_raise()

    async def force_terminate_transaction(self, transactional_id: str, *, timeout_ms: float | None = None) -> None:
        await self.fence_producers([transactional_id], timeout_ms=timeout_ms)

    # The cluster

    async def describe_cluster(
        self, *, include_fenced_brokers: bool = False, timeout_ms: float | None = None
    ) -> NodesDescription:
        """Return the brokers, or the controllers if the client connects to controllers."""
        async with self._limited(timeout_ms) as admin:
            return await admin.cluster.describe(include_fenced=include_fenced_brokers)

    async def describe_features(self, *, timeout_ms: float | None = None) -> Features:
        async with self._limited(timeout_ms) as admin:
            return await admin.features.describe()

    async def update_features(
        self, updates: Mapping[str, FeatureUpdate], *, validate_only: bool = False, timeout_ms: float | None = None
    ) -> None:
        async with self._limited(timeout_ms) as admin:
            await admin.features.update(updates, validate_only=validate_only)

    async def unregister_broker(self, broker_id: int, *, timeout_ms: float | None = None) -> None:
        """Remove the registration of a broker that will not return."""
        async with self._limited(timeout_ms) as admin:
            await admin.cluster.unregister_broker(broker_id)

    async def describe_metadata_quorum(self, *, timeout_ms: float | None = None) -> QuorumDescription:
        async with self._limited(timeout_ms) as admin:
            return await admin.quorum.describe()

    async def add_raft_voter(
        self,
        voter_id: int,
        directory_id: bytes,
        endpoints: Iterable[VoterEndpoint],
        *,
        cluster_id: str | None = None,
        timeout_ms: float | None = None,
    ) -> None:
        """Add a voter, and return when the change is committed. `cluster_id` must be that of the cluster."""
        expected_id = cluster_id or (await self.describe_cluster(timeout_ms=timeout_ms)).cluster_id
        addresses = tuple(VoterEndpoint(*endpoint) for endpoint in endpoints)
        async with self._limited(timeout_ms) as admin:
            await admin.quorum.add_voter(expected_id, voter_id, directory_id, addresses)

    async def remove_raft_voter(self, voter_id: int, directory_id: bytes, *, timeout_ms: float | None = None) -> None:
        """Remove a voter, and return when the change is committed."""
        async with self._limited(timeout_ms) as admin:
            await admin.quorum.remove_voter(voter_id, directory_id)


def _partitions(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    return [TopicPartition(*partition) for partition in partitions]


def _partitions_or_all(partitions: Iterable[TopicPartition] | None) -> list[TopicPartition] | None:
    return None if partitions is None else _partitions(partitions)
