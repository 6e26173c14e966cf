"""Administration as an object: every operation that a broker serves, by the names of Kafka's Admin.

    async with Admin(bootstrap_servers="localhost:9092") as admin:
        await admin.create_topics([NewTopic("orders", partitions=3)])
        offsets = await admin.list_offsets({TopicPartition("orders", 0): OffsetSpec.LATEST})

An operation on several things gives a value for each. If it is refused for the only one, `Refused` is raised with
Kafka's error code; if for some of several, `PartlyRefused`, whose `outcomes` has what became of each. Operations that
change something are sent once: after a connection that broke nobody knows whether they were carried out
(`Unreachable`). The work is done by the functions of the modules beside this one.

With `bootstrap_controllers` the controllers themselves are asked, for what they serve: the quorum, features, brokers.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum

from odradek.client.admin import (
    cluster,
    configs,
    features,
    groups,
    log_dirs,
    quorum,
    quotas,
    reassignments,
    transactions,
)
from odradek.client.admin import partitions as admin_partitions
from odradek.client.admin import topics as admin_topics
from odradek.client.admin.base import AdminBase
from odradek.client.admin.cluster import Features, LogDir, NodesDescription
from odradek.client.admin.configs import ConfigChange, ConfigEntry, ConfigResource
from odradek.client.admin.features import FeatureUpdate, UpgradeType
from odradek.client.admin.groups import GroupDescription, GroupListing, GroupMember, MemberToRemove
from odradek.client.admin.log_dirs import Place, Replica
from odradek.client.admin.outcomes import accepted_all
from odradek.client.admin.partitions import HIGH_WATERMARK, OffsetAndTimestamp
from odradek.client.admin.quorum import QuorumDescription, VoterEndpoint
from odradek.client.admin.quotas import QuotaEntity, QuotaFilter, ScramCredential
from odradek.client.admin.reassignments import ElectionType, Reassignment
from odradek.client.admin.topics import CreatedTopic, NewTopic, TopicDescription, TopicListing
from odradek.client.admin.transactions import (
    ProducerIdAndEpoch,
    ProducerState,
    TransactionDescription,
    TransactionListing,
)
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common import special_timestamps
from odradek.protocol.config_kinds import ConfigOp, ConfigResourceType

__all__ = [
    "HIGH_WATERMARK",
    "Admin",
    "ConfigChange",
    "ConfigOp",
    "ConfigResource",
    "ConfigResourceType",
    "ElectionType",
    "FeatureUpdate",
    "GroupMember",
    "MemberToRemove",
    "NewTopic",
    "OffsetSpec",
    "QuotaFilter",
    "Replica",
    "UpgradeType",
    "VoterEndpoint",
]


class OffsetSpec(IntEnum):
    """Which offset is asked for, where it is not the first at or after a time."""

    EARLIEST = special_timestamps.EARLIEST
    LATEST = special_timestamps.LATEST
    #: Of the record with the latest timestamp.
    MAX_TIMESTAMP = special_timestamps.MAX_TIMESTAMP
    EARLIEST_LOCAL = special_timestamps.EARLIEST_LOCAL
    LATEST_TIERED = special_timestamps.LATEST_TIERED
    EARLIEST_PENDING_UPLOAD = special_timestamps.EARLIEST_PENDING_UPLOAD


class Admin(AdminBase):
    """Looks at a cluster and changes it, for asyncio.

        async with Admin(bootstrap_servers="localhost:9092") as admin:
            await admin.create_topics([NewTopic("orders", partitions=3)])

    Instead of `async with` there are `start` and `close`. For one event loop.
    """

    # Topics

    async def create_topics(
        self, topics: Iterable[NewTopic | str], *, validate_only: bool = False, timeout_ms: float | None = None
    ) -> dict[str, CreatedTopic]:
        """A name alone leaves everything else to the cluster."""
        new = [NewTopic(each) if isinstance(each, str) else each for each in topics]
        return await self._each(admin_topics.create_topics(self._up, new, validate_only=validate_only), timeout_ms)

    async def delete_topics(self, names: Iterable[str], *, timeout_ms: float | None = None) -> None:
        await self._each(admin_topics.delete_topics(self._up, list(names)), timeout_ms)

    async def list_topics(self, *, timeout_ms: float | None = None) -> list[TopicListing]:
        """Those we may see, internal ones too, by name."""
        return await self._whole(admin_topics.list_topics(self._up), timeout_ms)

    async def describe_topics(
        self, names: Iterable[str], *, timeout_ms: float | None = None
    ) -> dict[str, TopicDescription]:
        return await self._each(admin_topics.describe_topics(self._up, list(names)), timeout_ms)

    async def create_partitions(
        self,
        counts: Mapping[str, int],
        assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
        *,
        validate_only: bool = False,
        timeout_ms: float | None = None,
    ) -> None:
        """How many each topic is to have then; assignments name the brokers of each that is added."""
        made = admin_topics.create_partitions(self._up, counts, assignments, validate_only=validate_only)
        await self._each(made, timeout_ms)

    # Partitions

    async def list_offsets(
        self,
        specs: Mapping[TopicPartition, int],
        *,
        read_committed: bool = False,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """Of the first record at or after a time (ms since 1970), or what an OffsetSpec says."""
        asked = {TopicPartition(*place): int(spec) for place, spec in specs.items()}
        return await self._each(
            admin_partitions.list_offsets(self._up, asked, read_committed=read_committed), timeout_ms
        )

    async def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """Everything before these offsets, or with HIGH_WATERMARK everything; gives the first that is left."""
        asked = {TopicPartition(*place): offset for place, offset in before.items()}
        return await self._each(admin_partitions.delete_records(self._up, asked), timeout_ms)

    async def elect_leaders(
        self,
        election_type: ElectionType = ElectionType.PREFERRED,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, bool]:
        """Of these, or of all that need it; the value is whether there was anything to do."""
        return await self._each(reassignments.elect_leaders(self._up, election_type, _places(partitions)), timeout_ms)

    async def alter_partition_reassignments(
        self, targets: Mapping[TopicPartition, Sequence[int] | None], *, timeout_ms: float | None = None
    ) -> None:
        """Begins to move each partition to these brokers; None cancels what goes on."""
        asked = {TopicPartition(*place): brokers for place, brokers in targets.items()}
        await self._each(reassignments.alter_reassignments(self._up, asked), timeout_ms)

    async def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None, *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, Reassignment]:
        """Those that go on."""
        return dict(await self._whole(reassignments.list_reassignments(self._up, _places(partitions)), timeout_ms))

    async def describe_producers(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, tuple[ProducerState, ...]]:
        """Who has written to the partitions lately."""
        return await self._each(transactions.describe_producers(self._up, _places(partitions) or []), timeout_ms)

    # Log directories

    async def describe_log_dirs(
        self,
        broker_ids: Iterable[int] | None = None,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> dict[int, tuple[LogDir, ...]]:
        """Of these brokers, or of all; with these partitions, or with all."""
        brokers = None if broker_ids is None else list(broker_ids)
        return await self._each(cluster.describe_log_dirs(self._up, brokers, _places(partitions)), timeout_ms)

    async def describe_replica_log_dirs(
        self, replicas: Iterable[Replica], *, timeout_ms: float | None = None
    ) -> dict[Replica, Place]:
        """Where each is, and where it is on its way to; what is nowhere is left out."""
        asked = dict.fromkeys(Replica(*each) for each in replicas)
        return await self._whole(log_dirs.find_replicas(self._up, asked), timeout_ms)

    async def alter_replica_log_dirs(self, targets: Mapping[Replica, str], *, timeout_ms: float | None = None) -> None:
        """Begins to move each replica to a directory of its broker."""
        asked = {Replica(*replica): path for replica, path in targets.items()}
        await self._each(log_dirs.alter_replica_log_dirs(self._up, asked), timeout_ms)

    # Settings

    async def describe_configs(
        self, resources: Iterable[ConfigResource], *, timeout_ms: float | None = None
    ) -> dict[ConfigResource, Mapping[str, ConfigEntry]]:
        return await self._each(configs.describe_configs(self._up, list(resources)), timeout_ms)

    async def incremental_alter_configs(
        self,
        changes: Mapping[ConfigResource, Sequence[ConfigChange]],
        *,
        validate_only: bool = False,
        timeout_ms: float | None = None,
    ) -> None:
        """All changes of a resource, or none of them."""
        await self._each(configs.alter_configs(self._up, changes, validate_only=validate_only), timeout_ms)

    async def list_config_resources(
        self, types: Iterable[ConfigResourceType] = (), *, timeout_ms: float | None = None
    ) -> list[ConfigResource]:
        """Of these types, or of all."""
        return await self._whole(configs.list_config_resources(self._up, list(types)), timeout_ms)

    async def list_client_metrics_resources(self, *, timeout_ms: float | None = None) -> list[str]:
        """Names of subscriptions to clients' metrics."""
        found = await self.list_config_resources([ConfigResourceType.CLIENT_METRICS], timeout_ms=timeout_ms)
        return [each.name for each in found]

    async def describe_client_quotas(
        self, wanted: QuotaFilter | None = None, *, timeout_ms: float | None = None
    ) -> dict[QuotaEntity, dict[str, float]]:
        """By entity: pairs of type (user, client-id, ip) and name, None being the default of the type."""
        return await self._whole(quotas.describe_client_quotas(self._up, wanted), timeout_ms)

    async def alter_client_quotas(
        self,
        changes: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        timeout_ms: float | None = None,
    ) -> None:
        """None takes a quota away."""
        await self._each(quotas.alter_client_quotas(self._up, changes, validate_only=validate_only), timeout_ms)

    async def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None, *, timeout_ms: float | None = None
    ) -> dict[str, tuple[ScramCredential, ...]]:
        """Of these users, or of all that have any."""
        names = None if users is None else list(users)
        return await self._each(quotas.describe_user_scram_credentials(self._up, names), timeout_ms)

    # Groups

    async def list_groups(
        self, *, states: Iterable[str] = (), types: Iterable[str] = (), timeout_ms: float | None = None
    ) -> list[GroupListing]:
        """Of all kinds, or of these types (classic, consumer, …), by name."""
        return await self._whole(groups.list_groups(self._up, states, types), timeout_ms)

    async def describe_consumer_groups(
        self, group_ids: Iterable[str], *, timeout_ms: float | None = None
    ) -> dict[str, GroupDescription]:
        """Groups of consumers, whichever protocol they use."""
        return await self._each(groups.describe_groups(self._up, list(group_ids)), timeout_ms)

    async def describe_classic_groups(
        self, group_ids: Iterable[str], *, timeout_ms: float | None = None
    ) -> dict[str, GroupDescription]:
        return await self._each(groups.describe_classic_groups(self._up, list(group_ids)), timeout_ms)

    async def delete_consumer_groups(self, group_ids: Iterable[str], *, timeout_ms: float | None = None) -> None:
        await self._each(groups.delete_groups(self._up, list(group_ids)), timeout_ms)

    async def list_consumer_group_offsets(
        self, group_ids: Iterable[str], *, require_stable: bool = False, timeout_ms: float | None = None
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
        """All that each group has committed."""
        asked = groups.committed_offsets(self._up, list(group_ids), require_stable=require_stable)
        found = await self._each(asked, timeout_ms)
        return {
            group_id: {
                place: OffsetAndMetadata(each.offset, each.leader_epoch, each.metadata)
                for place, each in accepted_all(offsets).items()
            }
            for group_id, offsets in found.items()
        }

    async def alter_consumer_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata],
        *,
        timeout_ms: float | None = None,
    ) -> None:
        """Of a group that has no members."""
        asked = {TopicPartition(*place): each for place, each in offsets.items()}
        await self._each(groups.set_offsets(self._up, group_id, asked), timeout_ms)

    async def delete_consumer_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], *, timeout_ms: float | None = None
    ) -> None:
        """Of topics that the group is not subscribed to."""
        await self._each(groups.delete_offsets(self._up, group_id, _places(partitions) or []), timeout_ms)

    async def remove_members_from_consumer_group(
        self,
        group_id: str,
        members: Iterable[MemberToRemove] | None = None,
        *,
        reason: str | None = None,
        timeout_ms: float | None = None,
    ) -> None:
        """These members of a classic group, or all of them."""
        chosen = list(members) if members is not None else await self._members(group_id, timeout_ms)
        if chosen:
            await self._each(groups.remove_members(self._up, group_id, chosen, reason), timeout_ms)

    # Transactions

    async def list_transactions(
        self,
        *,
        states: Iterable[str] = (),
        producer_ids: Iterable[int] = (),
        longer_than_ms: int = -1,
        timeout_ms: float | None = None,
    ) -> list[TransactionListing]:
        return await self._whole(
            transactions.list_transactions(self._up, states, producer_ids, longer_than_ms), timeout_ms
        )

    async def describe_transactions(
        self, transactional_ids: Iterable[str], *, timeout_ms: float | None = None
    ) -> dict[str, TransactionDescription]:
        return await self._each(transactions.describe_transactions(self._up, list(transactional_ids)), timeout_ms)

    async def abort_transaction(
        self,
        partition: TopicPartition,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        *,
        timeout_ms: float | None = None,
    ) -> None:
        """In one partition, past its coordinator: for one that nobody else will end."""
        await self._each(
            transactions.abort_in_partition(
                self._up, TopicPartition(*partition), producer_id, producer_epoch, coordinator_epoch
            ),
            timeout_ms,
        )

    async def fence_producers(
        self, transactional_ids: Iterable[str], *, timeout_ms: float | None = None
    ) -> dict[str, ProducerIdAndEpoch]:
        """Whoever uses these ids can go on no more, and what they left open is aborted."""
        return await self._each(transactions.fence_producers(self._up, list(transactional_ids)), timeout_ms)

    async def force_terminate_transaction(self, transactional_id: str, *, timeout_ms: float | None = None) -> None:
        await self.fence_producers([transactional_id], timeout_ms=timeout_ms)

    # The cluster

    async def describe_cluster(
        self, *, include_fenced_brokers: bool = False, timeout_ms: float | None = None
    ) -> NodesDescription:
        """Brokers, or controllers where those are asked."""
        return await self._whole(cluster.describe_nodes(self._up, include_fenced=include_fenced_brokers), timeout_ms)

    async def describe_features(self, *, timeout_ms: float | None = None) -> Features:
        return await self._whole(cluster.describe_features(self._up), timeout_ms)

    async def update_features(
        self, updates: Mapping[str, FeatureUpdate], *, validate_only: bool = False, timeout_ms: float | None = None
    ) -> None:
        await self._whole(features.update_features(self._up, updates, validate_only=validate_only), timeout_ms)

    async def unregister_broker(self, broker_id: int, *, timeout_ms: float | None = None) -> None:
        """One that is gone for good."""
        await self._whole(cluster.unregister_broker(self._up, broker_id), timeout_ms)

    async def describe_metadata_quorum(self, *, timeout_ms: float | None = None) -> QuorumDescription:
        return await self._whole(quorum.describe_quorum(self._up), timeout_ms)

    async def add_raft_voter(
        self,
        voter_id: int,
        directory_id: bytes,
        endpoints: Iterable[VoterEndpoint],
        *,
        cluster_id: str | None = None,
        timeout_ms: float | None = None,
    ) -> None:
        """Returns when the new voter is committed. `cluster_id` makes sure that it is the right cluster."""
        wanted = cluster_id or (await self.describe_cluster(timeout_ms=timeout_ms)).cluster_id
        places = tuple(VoterEndpoint(*each) for each in endpoints)
        await self._whole(quorum.add_voter(self._up, wanted, voter_id, directory_id, places), timeout_ms)

    async def remove_raft_voter(self, voter_id: int, directory_id: bytes, *, timeout_ms: float | None = None) -> None:
        """Returns when its removal is committed."""
        await self._whole(quorum.remove_voter(self._up, voter_id, directory_id), timeout_ms)

    async def _members(self, group_id: str, timeout_ms: float | None) -> list[MemberToRemove]:
        """All of a group: static ones by their instance, since they come back under other member ids."""
        (described,) = (await self.describe_classic_groups([group_id], timeout_ms=timeout_ms)).values()
        return [
            MemberToRemove(instance_id=each.instance_id) if each.instance_id else MemberToRemove(each.member_id)
            for each in described.members
        ]


def _places(partitions: Iterable[TopicPartition] | None) -> list[TopicPartition] | None:
    return None if partitions is None else [TopicPartition(*each) for each in partitions]
