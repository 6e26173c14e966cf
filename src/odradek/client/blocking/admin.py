"""The admin client for threads: every operation of `odradek.client.admin.admin.Admin`, waited for."""

from collections.abc import Mapping
from typing import Unpack

from odradek.client.admin.admin import Admin as AsyncAdmin
from odradek.client.blocking.blocking_client import BlockingClient, blocking
from odradek.client.settings.typed_dicts import AdminSettings


class Admin(BlockingClient[AsyncAdmin]):
    """Looks at a cluster and changes it; for scripts and threads. Instead of `with` there are `start` and `close`."""

    def __init__(self, config: Mapping[str, object] | None = None, **settings: Unpack[AdminSettings]) -> None:
        """Settings by Kafka's names: as a dict, or as keywords with underscores. Raises InputError."""
        super().__init__(AsyncAdmin(config, **settings))
        self.settings = self._inner.settings

    def start(self) -> None:
        """Raises Unreachable, with each address and what became of it."""
        self._loop.call(self._inner.start())
        self._loop.open.add(self)

    def close(self, timeout_ms: float | None = None) -> None:
        """Closes the connections at once: it waits for no broker, whatever `timeout_ms`."""
        self._loop.open.discard(self)
        self._loop.call(self._inner.close())

    async def _close_inner(self, timeout_ms: float | None) -> None:
        await self._inner.close()

    # Topics

    create_topics = blocking(AsyncAdmin.create_topics)
    delete_topics = blocking(AsyncAdmin.delete_topics)
    list_topics = blocking(AsyncAdmin.list_topics)
    describe_topics = blocking(AsyncAdmin.describe_topics)
    create_partitions = blocking(AsyncAdmin.create_partitions)

    # Partitions

    list_offsets = blocking(AsyncAdmin.list_offsets)
    delete_records = blocking(AsyncAdmin.delete_records)
    elect_leaders = blocking(AsyncAdmin.elect_leaders)
    alter_partition_reassignments = blocking(AsyncAdmin.alter_partition_reassignments)
    list_partition_reassignments = blocking(AsyncAdmin.list_partition_reassignments)
    describe_producers = blocking(AsyncAdmin.describe_producers)

    # Log directories

    describe_log_dirs = blocking(AsyncAdmin.describe_log_dirs)
    describe_replica_log_dirs = blocking(AsyncAdmin.describe_replica_log_dirs)
    alter_replica_log_dirs = blocking(AsyncAdmin.alter_replica_log_dirs)

    # Settings

    describe_configs = blocking(AsyncAdmin.describe_configs)
    incremental_alter_configs = blocking(AsyncAdmin.incremental_alter_configs)
    list_config_resources = blocking(AsyncAdmin.list_config_resources)
    list_client_metrics_resources = blocking(AsyncAdmin.list_client_metrics_resources)
    describe_client_quotas = blocking(AsyncAdmin.describe_client_quotas)
    alter_client_quotas = blocking(AsyncAdmin.alter_client_quotas)
    describe_user_scram_credentials = blocking(AsyncAdmin.describe_user_scram_credentials)

    # Groups

    list_groups = blocking(AsyncAdmin.list_groups)
    describe_consumer_groups = blocking(AsyncAdmin.describe_consumer_groups)
    describe_classic_groups = blocking(AsyncAdmin.describe_classic_groups)
    delete_consumer_groups = blocking(AsyncAdmin.delete_consumer_groups)
    list_consumer_group_offsets = blocking(AsyncAdmin.list_consumer_group_offsets)
    alter_consumer_group_offsets = blocking(AsyncAdmin.alter_consumer_group_offsets)
    delete_consumer_group_offsets = blocking(AsyncAdmin.delete_consumer_group_offsets)
    remove_members_from_consumer_group = blocking(AsyncAdmin.remove_members_from_consumer_group)

    # Transactions

    list_transactions = blocking(AsyncAdmin.list_transactions)
    describe_transactions = blocking(AsyncAdmin.describe_transactions)
    abort_transaction = blocking(AsyncAdmin.abort_transaction)
    fence_producers = blocking(AsyncAdmin.fence_producers)
    force_terminate_transaction = blocking(AsyncAdmin.force_terminate_transaction)

    # The cluster

    describe_cluster = blocking(AsyncAdmin.describe_cluster)
    describe_features = blocking(AsyncAdmin.describe_features)
    update_features = blocking(AsyncAdmin.update_features)
    unregister_broker = blocking(AsyncAdmin.unregister_broker)
    describe_metadata_quorum = blocking(AsyncAdmin.describe_metadata_quorum)
    add_raft_voter = blocking(AsyncAdmin.add_raft_voter)
    remove_raft_voter = blocking(AsyncAdmin.remove_raft_voter)
