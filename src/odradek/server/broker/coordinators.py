"""The coordinators of a broker, put together from its configuration.

What groups and transactions are made of is imported when the first partition of theirs is led here: a node starts
without it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from odradek.api.dispatch.context import Services
from odradek.coordinator.runtime.runtime import CoordinatorRuntime
from odradek.coordinator.runtime.shard import Shard, ShardContext
from odradek.metadata.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from odradek.metadata.publishing.loader import MetadataLoader
from odradek.records.compression import Compression
from odradek.replica.broker_replicas import BrokerReplicas
from odradek.server.broker.transactions import TransactionPart
from odradek.server.config.coordinator_settings import group_settings, offsets_compression
from odradek.server.drivers.coordinator_driver import CoordinatorDriver
from odradek.server.drivers.coordinator_log import ReplicaLog
from odradek.server.drivers.fatal import FatalHandler
from odradek.server.node_context import Foundation

if TYPE_CHECKING:
    from odradek.coordinator.group.shard import GroupShard
    from odradek.coordinator.transaction.ending import ProducerIds

#: Kafka waits for the log of transactions as brokers wait for each other: `request.timeout.ms`.
_TRANSACTION_LOG_TIMEOUT_MS = 30_000

AnyShard = TypeVar("AnyShard", bound=Shard)


class CoordinatorPart:
    def __init__(self, base: Foundation, loader: MetadataLoader, fatal: FatalHandler) -> None:
        self._base = base
        self._loader = loader
        self._fatal = fatal
        self._drivers: list[CoordinatorDriver[Any]] = []
        self._transactions: TransactionPart | None = None

    def start(self, services: Services, manager: BrokerReplicas, new_id: "ProducerIds") -> None:
        """After the replicas have begun to follow the metadata: a coordinator is loaded where its partition is led.
        `new_id` gives a producer id that is at hand."""
        groups = services.groups = self._groups(manager)
        self._start_transactions(services, manager, groups, new_id)
        for driver in self._drivers:
            self._loader.add_publisher(driver)

    async def close(self) -> None:
        for driver in self._drivers:
            await driver.close()
        if self._transactions is not None:
            await self._transactions.close()

    def _groups(self, manager: BrokerReplicas) -> "CoordinatorDriver[GroupShard]":
        settings = self._base.config.settings
        chosen = group_settings(settings)

        def new_shard(context: ShardContext) -> "GroupShard":
            from odradek.coordinator.group.shard import GroupShard

            return GroupShard(context, chosen)

        return self._driver(
            manager,
            CONSUMER_OFFSETS,
            new_shard,
            partition_count=settings.whole("offsets.topic.num.partitions"),
            timeout_ms=chosen.offset_commit_timeout_ms,
            compression=offsets_compression(settings),
        )

    def _start_transactions(
        self,
        services: Services,
        manager: BrokerReplicas,
        groups: "CoordinatorDriver[GroupShard]",
        new_id: "ProducerIds",
    ) -> None:
        part = self._transactions = TransactionPart(self._base, services, new_id)
        driver = self._driver(
            manager,
            TRANSACTION_STATE,
            part.new_shard,
            partition_count=self._base.config.settings.whole("transaction.state.log.num.partitions"),
            timeout_ms=_TRANSACTION_LOG_TIMEOUT_MS,
        )
        part.start(manager, groups, driver, self._fatal)

    def _driver(
        self,
        manager: BrokerReplicas,
        topic: str,
        new_shard: Callable[[ShardContext], AnyShard],
        *,
        partition_count: int,
        timeout_ms: int,
        compression: Compression = Compression.NONE,
    ) -> CoordinatorDriver[AnyShard]:
        base = self._base
        log = ReplicaLog(manager, topic)
        runtime = CoordinatorRuntime(topic, log, new_shard, base.clock, base.random, compression)
        driver = CoordinatorDriver(
            runtime, log, base.config.node_id, partition_count, timeout_ms, base.clock, self._fatal
        )
        self._drivers.append(driver)
        return driver
