"""The controller of a node, put together from its configuration."""

from odradek.common.ports import FileSystem
from odradek.controller.controls import ControlSettings
from odradek.controller.feature_control import QuorumFeatures
from odradek.controller.heartbeats import HeartbeatLimits
from odradek.controller.partition_creation import TopicDefaults
from odradek.controller.quorum_controller import ControllerSettings, QuorumController
from odradek.metadata.features import metadata_version
from odradek.metadata.features.metadata_version import LATEST_PRODUCTION
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.metadata_log.bootstrap_checkpoint import read_bootstrap
from odradek.protocol.messages.feature_level_record import FeatureLevelRecord
from odradek.server.config.server_config import ServerConfig
from odradek.server.controller.quorum import QuorumPart
from odradek.server.drivers.controller_driver import ControllerDriver
from odradek.server.drivers.fatal import FatalHandler
from odradek.server.node_context import Foundation
from odradek.server.storage.node_directories import NodeDirs


def build_controller(
    base: Foundation, quorum: QuorumPart, broker_incarnation_id: bytes | None, fatal: FatalHandler
) -> ControllerDriver:
    """`broker_incarnation_id` of the broker in the same process; None where there is none."""
    config = base.config
    settings = _controller_settings(config, base.dirs, quorum, _bootstrap(base.files, config), broker_incarnation_id)
    core = QuorumController(config.node_id, settings, base.random, quorum.loader, base.clock)
    return ControllerDriver(core, quorum.driver, base.clock, fatal)


def _controller_settings(
    config: ServerConfig,
    dirs: NodeDirs,
    quorum: QuorumPart,
    bootstrap: list[MetadataRecord],
    broker_incarnation_id: bytes | None,
) -> ControllerSettings:
    settings = config.settings
    controls = ControlSettings(
        cluster_id=dirs.cluster_id,
        quorum=QuorumFeatures(config.node_id, tuple(voter.id for voter in config.voters)),
        heartbeat=HeartbeatLimits(settings.whole("broker.session.timeout.ms"), config.broker_disconnect_grace_ms),
        topic_defaults=TopicDefaults(settings.whole("num.partitions"), settings.whole("default.replication.factor")),
        static_configs=settings.given,
        kraft_version=lambda: quorum.raft.kraft_version,
        broker_incarnation_id=broker_incarnation_id,
    )
    balance_ms = settings.whole("leader.imbalance.check.interval.seconds") * 1000
    return ControllerSettings(
        controls,
        bootstrap,
        max_idle_interval_ms=settings.whole("metadata.max.idle.interval.ms") or None,
        leader_imbalance_check_ms=balance_ms if settings.boolean("auto.leader.rebalance.enable") else None,
    )


def _bootstrap(files: FileSystem, config: ServerConfig) -> list[MetadataRecord]:
    """Return the bootstrap records that formatting wrote. A directory without them starts with the latest version."""
    records = read_bootstrap(files, config.metadata_log_dir)
    if records is not None:
        return records
    level = FeatureLevelRecord(name=metadata_version.FEATURE_NAME, feature_level=int(LATEST_PRODUCTION))
    return [MetadataRecord(level, 0)]
