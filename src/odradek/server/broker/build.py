"""The broker of a node, put together from its configuration: its lifecycle, and its way to the controllers."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from odradek.api.dispatch.context import Services
from odradek.client.net.channel import ChannelConfig
from odradek.common.ports import FileSystem
from odradek.log.manager.checkpoint_files import read_clean_shutdown
from odradek.metadata.publishing.loader import MetadataLoader
from odradek.server.advertised_listeners import advertised_endpoints
from odradek.server.broker.coordinators import CoordinatorPart
from odradek.server.broker.replicas import ReplicaPart
from odradek.server.controller.quorum import QuorumPart
from odradek.server.drivers.fatal import FatalHandler
from odradek.server.drivers.lifecycle_driver import BrokerDriver
from odradek.server.links.controller_channel import ControllerChannel
from odradek.server.links.topic_creation import TopicCreation
from odradek.server.node_context import Foundation

logger = logging.getLogger("odradek.broker")

_UNKNOWN_EPOCH = -1


@dataclass(slots=True)
class BrokerPart:
    driver: BrokerDriver
    forwarder: ControllerChannel
    topic_creator: TopicCreation
    #: `auto.create.topics.enable`
    clients_make_topics: bool
    replicas: ReplicaPart
    coordinators: CoordinatorPart
    _loader: MetadataLoader
    _is_started: bool = False

    async def start(self, services: Services, ready: Callable[[], Awaitable[None]]) -> None:
        """The replicas are there before the broker asks to be unfenced."""
        services.forwarder = self.forwarder
        services.topic_creator = self.topic_creator if self.clients_make_topics else None
        services.create_internal_topic = self.topic_creator.create_internal
        await self.replicas.start(services)
        self.coordinators.start(services, self.replicas.manager, self.replicas.producer_ids.take)
        self._loader.add_publisher(self.driver)
        self._is_started = True
        await self.driver.start(ready)

    async def leave(self, timeout_ms: int) -> None:
        if self._is_started:
            self.replicas.manager.metadata.begin_controlled_shutdown()
            await self.driver.controlled_shutdown(timeout_ms)

    async def close(self) -> None:
        await self.coordinators.close()
        await self.replicas.close()
        await self.driver.close()
        await self.topic_creator.close()
        await self.forwarder.close()


def build_broker(
    base: Foundation,
    quorum: QuorumPart,
    ports: dict[str, int],
    incarnation_id: bytes,
    fatal: FatalHandler,
) -> BrokerPart:
    config, dirs = base.config, base.dirs
    driver = BrokerDriver(
        config,
        cluster_id=dirs.cluster_id,
        listeners=advertised_endpoints(config.listeners.advertised_to_clients, ports),
        directories={path: dirs.directory_ids[path] for path in config.log_dirs if path not in dirs.offline},
        quorum=quorum.driver,
        image=lambda: replicas.applied_image(),
        previous_broker_epoch=_UNKNOWN_EPOCH if dirs.offline else _previous_epoch(base.files, config.log_dirs),
        incarnation_id=incarnation_id,
        clock=base.clock,
        fatal=fatal,
        controller_troubles=quorum.driver.peer_troubles,
    )
    forwarder = ControllerChannel(quorum.driver, "forwarding", ChannelConfig(client_id=str(config.node_id)))
    replicas = ReplicaPart(base, quorum, lambda: driver.epoch, driver.directory_failed, fatal)
    driver.on_answer = replicas.controller_answered
    return BrokerPart(
        driver,
        forwarder,
        TopicCreation(config, forwarder),
        config.settings.boolean("auto.create.topics.enable"),
        replicas,
        CoordinatorPart(base, quorum.loader, fatal),
        quorum.loader,
    )


def _previous_epoch(files: FileSystem, log_dirs: tuple[str, ...]) -> int:
    """Return the epoch of the last run if it stopped cleanly in all directories."""
    try:
        markers = [read_clean_shutdown(files, log_dir) for log_dir in log_dirs]
    except OSError:
        return _UNKNOWN_EPOCH  # the directory goes offline when its logs are loaded
    epochs = {None if marker is None else marker.broker_epoch for marker in markers}
    epoch = epochs.pop() if len(epochs) == 1 else None
    return _UNKNOWN_EPOCH if epoch is None else epoch
