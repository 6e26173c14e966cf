"""Interface of the subscribers to new metadata."""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import MetadataImage, MetadataProvenance


@dataclass(frozen=True, slots=True)
class LeaderAndEpoch:
    """The active controller; `leader_id` None while there is none."""

    leader_id: int | None = None
    epoch: int = 0


class ManifestKind(Enum):
    LOG_DELTA = "log delta"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True, slots=True)
class LoaderManifest:
    """Source of an update."""

    kind: ManifestKind
    provenance: MetadataProvenance
    leader_and_epoch: LeaderAndEpoch = LeaderAndEpoch()
    batches: int = 0
    size_bytes: int = 0


class MetadataPublisher(Protocol):
    """Called in the order in which publishers were added, always with all changes since the last call.

    An exception from a publisher is a Fault of the node: the next update would be based on one that it did not apply.
    """

    @property
    def name(self) -> str: ...

    def on_metadata_update(self, delta: MetadataDelta, image: MetadataImage, manifest: LoaderManifest) -> None: ...

    def on_controller_change(self, leader_and_epoch: LeaderAndEpoch) -> None: ...
