"""For whom an image is written: which level its readers are at, and what to do about what they cannot read."""

from collections.abc import Callable
from dataclasses import dataclass

from odradek.common.failures import Fault
from odradek.metadata.features.metadata_version import MetadataVersion


class UnwritableMetadata(Fault):
    """The image holds something that the level asked for has no record for."""


def refuse_loss(loss: str) -> None:
    raise UnwritableMetadata(loss)


@dataclass(frozen=True, slots=True)
class WriterOptions:
    metadata_version: MetadataVersion
    #: Called with what would be left out. The default refuses.
    on_loss: Callable[[str], None] = refuse_loss

    def lose(self, what: str) -> None:
        self.on_loss(f"metadata.version {self.metadata_version.version} has no record for {what}")
