"""Controllers of a simulation, and the requests that are sent to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from odradek.controller.controls import ControlSettings
from odradek.controller.feature_control import QuorumFeatures
from odradek.controller.quorum_controller import Append, ControllerSettings, QuorumController
from odradek.metadata.features.feature_versions import FEATURES, KRAFT_VERSION, default_level, supported_features
from odradek.metadata.features.metadata_version import LATEST_PRODUCTION, MetadataVersion
from odradek.metadata.publishing.loader import MetadataBatch, MetadataLoader
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from odradek.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
)
from odradek.protocol.messages.feature_level_record import FeatureLevelRecord

CLUSTER_ID = "SimulatedCluster--1234"


@dataclass
class ManualClock:
    now_ms: int = 1_000

    def advance(self, duration_ms: int) -> None:
        self.now_ms += duration_ms

    def monotonic_ms(self) -> int:
        return self.now_ms

    def wall_ms(self) -> int:
        return self.now_ms


def bootstrap_records(version: MetadataVersion = LATEST_PRODUCTION, **levels: int) -> list[MetadataRecord]:
    """Return the records of a cluster formatted at this level; `levels` of other features have underscores for dots."""
    feature_levels = {name: levels.get(name.replace(".", "_"), default_level(name, version)) for name in FEATURES}
    feature_levels.pop(KRAFT_VERSION)
    records = [FeatureLevelRecord(name="metadata.version", feature_level=int(version))]
    records += [FeatureLevelRecord(name=name, feature_level=level) for name, level in feature_levels.items() if level]
    return [MetadataRecord(record, 0) for record in records]


def make_controller(
    node_id: int, clock: ManualClock, seed: int = 0, bootstrap: Sequence[MetadataRecord] | None = None, **other: Any
) -> QuorumController:
    controls = ControlSettings(
        CLUSTER_ID,
        QuorumFeatures(node_id),
        static_configs=other.pop("static", {}),
        broker_incarnation_id=other.pop("broker_incarnation_id", None),
    )
    settings = ControllerSettings(controls, bootstrap_records() if bootstrap is None else bootstrap, **other)
    return QuorumController(node_id, settings, Random(seed), MetadataLoader(), clock)


def as_batch(append: Append) -> MetadataBatch:
    return MetadataBatch(append.base_offset, append.last_offset, append.epoch, 0, 100, append.records)


def directory_of(broker_id: int, index: int = 0) -> bytes:
    return bytes((200, broker_id + 1, index + 1)) * 5 + b"d"


def registration(broker_id: int, *, incarnation: int = 1, **fields: Any) -> BrokerRegistrationRequest:
    values: dict[str, Any] = {
        "broker_id": broker_id,
        "cluster_id": CLUSTER_ID,
        "incarnation_id": bytes((broker_id + 1, incarnation % 256, incarnation // 256)).ljust(16, b"i"),
        "listeners": [Listener(name="PLAINTEXT", host=f"broker{broker_id}", port=9092, security_protocol=0)],
        "features": [
            Feature(name=name, min_supported_version=r.min, max_supported_version=r.max)
            for name, r in supported_features().items()
        ],
        "log_dirs": [directory_of(broker_id)],
    }
    return BrokerRegistrationRequest(**{**values, **fields})


def topic(name: str, assignments: list[list[int]] | None = None, **fields: Any) -> CreatableTopic:
    configs = [CreatableTopicConfig(name=n, value=v) for n, v in fields.pop("configs", {}).items()]
    values: dict[str, Any] = {"num_partitions": -1, "replication_factor": -1}
    manual = [
        CreatableReplicaAssignment(partition_index=index, broker_ids=replicas)
        for index, replicas in enumerate(assignments or [])
    ]
    return CreatableTopic(name=name, assignments=manual, configs=configs, **{**values, **fields})
