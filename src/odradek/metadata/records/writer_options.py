"""Options for writing an image: the metadata.version of its readers, and what happens to metadata they cannot read."""

from collections.abc import Callable
from dataclasses import dataclass

from odradek.common.failures import Fault
from odradek.metadata.features.metadata_version import MetadataVersion


class UnwritableMetadata(Fault):
    """The image contains metadata for which the requested metadata.version has no record."""


def refuse_loss(loss: str) -> None:
    """Raise UnwritableMetadata."""
    raise UnwritableMetadata(loss)


@dataclass(frozen=True, slots=True)
class WriterOptions:
    metadata_version: MetadataVersion
    #: Called with a description of metadata that cannot be written. The default raises UnwritableMetadata.
    on_loss: Callable[[str], None] = refuse_loss

    def lose(self, metadata: str) -> None:
        """Report metadata that cannot be written."""
        self.on_loss(f"metadata.version {self.metadata_version.version} has no record for {metadata}")
