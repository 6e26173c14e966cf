"""A node's replica of the metadata log, put together from its configuration: log, vote, Raft, driver.

Every node has one. A controller's is, or may become, a voter; a broker's observes, and keeps its own copy on disk, so
that it starts from where it was.
"""

from dataclasses import dataclass

from odradek.common.addresses import HostPort
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.publishing.loader import MetadataLoader
from odradek.metadata_log.metadata_log import MetadataLog
from odradek.metadata_log.opening import open_metadata_log
from odradek.raft.config import LocalNode
from odradek.raft.raft import Raft
from odradek.raft.storage.quorum_state_file import QuorumStateStore
from odradek.raft.values import NO_ENDPOINTS, Destination, Endpoint, Endpoints
from odradek.raft.voters import NO_VOTERS, VoterSet
from odradek.server.advertised_listeners import advertised_endpoints
from odradek.server.config.log_settings import metadata_log_config
from odradek.server.config.server_config import ServerConfig
from odradek.server.drivers.raft_driver import RaftDriver
from odradek.server.node_context import Foundation
from odradek.server.storage.node_directories import NodeDirs

#: Ids of servers that are known by address alone go down from here.
_FIRST_BOOTSTRAP_ID = -2


@dataclass(slots=True)
class QuorumPart:
    raft: Raft
    log: MetadataLog
    driver: RaftDriver
    loader: MetadataLoader

    def image(self) -> MetadataImage:
        return self.loader.image


def build_quorum(base: Foundation, ports: dict[str, int]) -> QuorumPart:
    """`ports`: where the node's listeners are bound, by name. Raises Fault where the log is broken."""
    config, clock = base.config, base.clock
    log = open_metadata_log(base.files, clock, config.metadata_log_dir, metadata_log_config(config.settings))
    store = QuorumStateStore(base.files, log.directory)
    quorum = config.quorum()
    local = local_node(config, base.dirs, ports)
    raft = Raft(local, quorum, log, store.read(), base.random, clock, clock.monotonic_ms())
    return QuorumPart(raft, log, RaftDriver(raft, quorum, log, store, clock), MetadataLoader())


def local_node(config: ServerConfig, dirs: NodeDirs, ports: dict[str, int]) -> LocalNode:
    listener = config.listeners.controller_names[0]
    endpoints = NO_ENDPOINTS
    if config.is_controller:
        advertised = advertised_endpoints(config.listeners.advertised_to_controllers, ports)
        endpoints = Endpoints.of(Endpoint(endpoint.name, endpoint.host, endpoint.port) for endpoint in advertised)
    return LocalNode(
        cluster_id=dirs.cluster_id,
        id=config.node_id,
        directory_id=dirs.directory_ids[config.metadata_log_dir],
        listener=listener,
        endpoints=endpoints,
        can_become_voter=config.is_controller,
        static_voters=_static_voters(config, listener),
        bootstrap_servers=_bootstrap_servers(config),
    )


def _static_voters(config: ServerConfig, listener: str) -> VoterSet:
    if not config.voters:
        return NO_VOTERS
    return VoterSet.static({voter.id: (voter.address.host, voter.address.port) for voter in config.voters}, listener)


def _bootstrap_servers(config: ServerConfig) -> tuple[Destination, ...]:
    servers: tuple[HostPort, ...] = tuple(voter.address for voter in config.voters) or config.bootstrap_servers
    return tuple(
        Destination(_FIRST_BOOTSTRAP_ID - index, server.host, server.port) for index, server in enumerate(servers)
    )
