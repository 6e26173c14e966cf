"""Settings objects of the logs, from what a node's file says."""

from odradek.metadata_log.metadata_log import MetadataLogConfig
from odradek.server.config.log_settings import metadata_log_config
from odradek.server.config.settings import Given, Settings


def test_its_settings_have_kafkas_names() -> None:
    file = "metadata.log.segment.bytes=8388608\nmetadata.log.segment.ms=1\nmetadata.max.retention.bytes=2\n"
    given = {key: Given(value, "here") for key, value in (line.split("=") for line in file.split())}
    assert metadata_log_config(Settings("server.properties", given)) == MetadataLogConfig(8388608, 1, 2)
    assert metadata_log_config(Settings("server.properties", {})) == MetadataLogConfig()
