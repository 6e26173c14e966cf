"""The settings objects of the logs, built from a node's settings."""

from odradek.metadata_log.metadata_log import MetadataLogConfig
from odradek.server.config.settings import Settings


def metadata_log_config(settings: Settings) -> MetadataLogConfig:
    return MetadataLogConfig(
        segment_bytes=settings.whole("metadata.log.segment.bytes"),
        segment_ms=settings.whole("metadata.log.segment.ms"),
        retention_bytes=settings.whole("metadata.max.retention.bytes"),
        retention_ms=settings.whole("metadata.max.retention.ms"),
    )
