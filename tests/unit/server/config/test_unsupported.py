"""Settings of the metadata log that do nothing are logged by brokers, once for each setting and update."""

import pytest

from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY
from odradek.metadata.publishing.publisher import LeaderAndEpoch, LoaderManifest, ManifestKind
from odradek.protocol.config_types import ConfigResourceType
from odradek.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData
from odradek.protocol.messages.config_record import ConfigRecord
from odradek.server.config.unsupported import UnsupportedSettings

TOPIC, BROKER, GROUP = ConfigResourceType.TOPIC, ConfigResourceType.BROKER, ConfigResourceType.GROUP


def setting(kind: int, resource: str, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value)


def quota(value: float, *, remove: bool = False) -> ClientQuotaRecord:
    entity = [EntityData(entity_type="client-id", entity_name="c")]
    return ClientQuotaRecord(entity=entity, key="producer_byte_rate", value=value, remove=remove)


def logged(caplog: pytest.LogCaptureFixture, *records: ConfigRecord | ClientQuotaRecord) -> list[str]:
    delta = MetadataDelta(EMPTY)
    for record in records:
        delta.replay(record)
    caplog.clear()
    manifest = LoaderManifest(ManifestKind.LOG_DELTA, EMPTY.provenance, LeaderAndEpoch())
    UnsupportedSettings().on_metadata_update(delta, delta.apply(EMPTY.provenance), manifest)
    return caplog.messages


def test_each_setting_without_an_effect_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    assert logged(
        caplog,
        setting(TOPIC, "a", "preallocate", "true"),
        setting(TOPIC, "b", "preallocate", "true"),
        setting(TOPIC, "a", "local.retention.ms", "5"),
        setting(TOPIC, "a", "retention.ms", "5"),
        setting(GROUP, "g", "share.session.timeout.ms", "50000"),
        setting(BROKER, "", "num.io.threads", "9"),
        setting(BROKER, "1", "listeners", "PLAINTEXT://:1"),
        setting(BROKER, "1", "log.cleaner.threads", "2"),
    ) == [
        "preallocate is set for topic a and 1 more, and has no effect: Files grow as records are appended.",
        "local.retention.ms is set for topic a, and has no effect: Tiered storage is not supported.",
        "share.session.timeout.ms is set for group g, and has no effect: Share groups are not supported.",
        "num.io.threads is set for all brokers, and has no effect: A node serves all connections in one event loop.",
        "listeners is set for broker 1, and has no effect: It is read when a node starts. "
        "Set it in the file of each node.",
    ]


def test_a_value_that_describes_what_happens_anyway_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert logged(caplog, setting(TOPIC, "a", "preallocate", "false"), setting(TOPIC, "a", "no.such", "1")) == []


def test_quotas_are_logged_when_they_are_set(caplog: pytest.LogCaptureFixture) -> None:
    assert logged(caplog, quota(5.0)) == ["client quotas are set; they are stored, and not enforced"]
    assert logged(caplog, quota(0.0, remove=True)) == []
