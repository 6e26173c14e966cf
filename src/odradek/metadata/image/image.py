"""Metadata of the cluster at one offset. Immutable; `MetadataDelta.apply` creates the next image."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from odradek.common.failures import fail
from odradek.metadata.image.acls import AclsImage
from odradek.metadata.image.client_quotas import ClientQuotasImage
from odradek.metadata.image.cluster import ClusterImage
from odradek.metadata.image.configs import ConfigsImage
from odradek.metadata.image.delegation_tokens import DelegationTokensImage
from odradek.metadata.image.features import FeaturesImage
from odradek.metadata.image.producer_ids import ProducerIdsImage
from odradek.metadata.image.scram import ScramImage
from odradek.metadata.image.topics import TopicsImage
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.metadata.records.writer_options import WriterOptions


@dataclass(frozen=True, slots=True)
class MetadataProvenance:
    """Position in the log that an image contains. Offset -1: nothing has been read."""

    last_contained_offset: int = -1
    last_contained_epoch: int = -1
    last_contained_log_time_ms: int = -1
    #: Whether a batch ends here. A snapshot can only be taken where one does.
    is_batch_aligned: bool = True


@dataclass(frozen=True, slots=True)
class MetadataImage:
    provenance: MetadataProvenance = field(default_factory=MetadataProvenance)
    features: FeaturesImage = field(default_factory=FeaturesImage)
    cluster: ClusterImage = field(default_factory=ClusterImage)
    topics: TopicsImage = field(default_factory=TopicsImage)
    configs: ConfigsImage = field(default_factory=ConfigsImage)
    client_quotas: ClientQuotasImage = field(default_factory=ClientQuotasImage)
    producer_ids: ProducerIdsImage = field(default_factory=ProducerIdsImage)
    acls: AclsImage = field(default_factory=AclsImage)
    scram: ScramImage = field(default_factory=ScramImage)
    delegation_tokens: DelegationTokensImage = field(default_factory=DelegationTokensImage)

    @property
    def offset(self) -> int:
        return self.provenance.last_contained_offset

    @property
    def is_empty(self) -> bool:
        parts = (self.features, self.cluster, self.topics, self.configs, self.client_quotas, self.producer_ids)
        return all(part.is_empty for part in (*parts, self.acls, self.scram, self.delegation_tokens))

    def same_content(self, other: "MetadataImage") -> bool:
        """Compare two images without their provenance."""
        return replace(self, provenance=other.provenance) == other

    def writer_options(self) -> WriterOptions:
        """Return options for readers at the metadata.version of the image: nothing can be lost."""
        version = self.features.metadata_version
        if version is None:
            fail("an image without a metadata.version cannot be written")
        return WriterOptions(version)

    def records(self, options: WriterOptions | None = None) -> Iterator[MetadataRecord]:
        """Yield the records of a snapshot in Kafka's order: replayed on the empty image they give this one."""
        options = options or self.writer_options()
        yield from self.features.records(options)
        yield from self.cluster.records(options)
        yield from self.topics.records(options)
        yield from self._records_after_topics(options)

    def records_but_topics(self) -> Iterator[MetadataRecord]:
        """Yield all records but those of topics, which a reader may copy instead: they are most of a large image."""
        options = self.writer_options()
        yield from self.features.records(options)
        yield from self.cluster.records(options)
        yield from self._records_after_topics(options)

    def _records_after_topics(self, options: WriterOptions) -> Iterator[MetadataRecord]:
        yield from self.configs.records()
        yield from self.client_quotas.records()
        yield from self.producer_ids.records()
        yield from self.acls.records()
        yield from self.scram.records(options)
        yield from self.delegation_tokens.records(options)


EMPTY = MetadataImage()
