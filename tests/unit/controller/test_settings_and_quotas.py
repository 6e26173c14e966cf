"""Settings, features, quotas and producer ids: what is kept and what is refused."""

from typing import Any

import pytest

from odradek.metadata.features.metadata_version import MetadataVersion
from odradek.metadata.image.configs import ConfigResource
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from odradek.protocol.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from odradek.protocol.messages.alter_configs_request import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from odradek.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from support.builders.controller import Bench, bootstrap_records, registration

TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    made.add_broker(1)
    made.create("a")
    return made


@pytest.mark.parametrize(
    ("kind", "resource", "name", "value", "code"),
    [
        (TOPIC, "a", "retention.ms", "5", ErrorCode.NONE),
        (TOPIC, "zzz", "retention.ms", "5", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "", "retention.ms", "5", ErrorCode.INVALID_REQUEST),
        (TOPIC, "a/b", "retention.ms", "5", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "a", "no.such", "5", ErrorCode.INVALID_CONFIG),
        (TOPIC, "a", "retention.ms", "x" * 40_000, ErrorCode.INVALID_CONFIG),
        (TOPIC, "a", "remote.storage.enable", "true", ErrorCode.INVALID_CONFIG),
        (BROKER, "1", "background.threads", "5", ErrorCode.NONE),
        (BROKER, "", "background.threads", "5", ErrorCode.NONE),
        (BROKER, "7", "background.threads", "5", ErrorCode.BROKER_ID_NOT_REGISTERED),
        (BROKER, "x", "background.threads", "5", ErrorCode.INVALID_REQUEST),
        (BROKER, "-1", "background.threads", "5", ErrorCode.INVALID_REQUEST),
        (GROUP, "g", "consumer.session.timeout.ms", "50000", ErrorCode.NONE),
        (GROUP, "g", "consumer.session.timeout.ms", "100", ErrorCode.INVALID_CONFIG),
        (GROUP, "", "consumer.session.timeout.ms", "50000", ErrorCode.INVALID_REQUEST),
        (GROUP, "g", "no.such", "1", ErrorCode.INVALID_CONFIG),
        (CLIENT_METRICS, "m", "interval.ms", "100", ErrorCode.NONE),
        (CLIENT_METRICS, "m", "interval.ms", "99", ErrorCode.INVALID_REQUEST),
        (CLIENT_METRICS, "m", "match", "client_id=a.*", ErrorCode.NONE),
        (CLIENT_METRICS, "m", "match", "colour=red", ErrorCode.INVALID_CONFIG),
        (CLIENT_METRICS, "m", "no.such", "1", ErrorCode.INVALID_REQUEST),
        (8, "1", "kafka", "DEBUG", ErrorCode.INVALID_REQUEST),
        (0, "1", "kafka", "DEBUG", ErrorCode.UNSUPPORTED_VERSION),
        (77, "1", "kafka", "DEBUG", ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_settings(bench: Bench, kind: int, resource: str, name: str, value: str, code: ErrorCode) -> None:
    found, _ = bench.set_config(kind, resource, name, value)
    assert ErrorCode(found) is code
    kept = bench.controller.controls.configuration.settings_of(ConfigResource(kind, resource)).get(name)
    assert kept == (value if code is ErrorCode.NONE else None)


def test_a_resource_that_is_named_twice_keeps_its_settings(bench: Bench) -> None:
    twice = [
        AlterConfigsResource(resource_type=TOPIC, resource_name="a", configs=[AlterableConfig(name=name, value="5")])
        for name in ("retention.ms", "segment.ms")
    ]
    responses = bench.ask(AlterConfigsRequest(resources=twice)).responses
    assert [(r.error_code, r.error_message) for r in responses] == [(ErrorCode.INVALID_REQUEST, "Duplicate resource.")]
    assert not bench.controller.controls.configuration.settings_of(ConfigResource(TOPIC, "a"))


def test_lists_grow_and_shrink(bench: Bench) -> None:
    resource = ConfigResource(TOPIC, "a")
    assert bench.set_config(TOPIC, "a", "cleanup.policy", "compact", op=2)[0] == 0
    assert bench.controller.controls.configuration.settings_of(resource)["cleanup.policy"] == "delete,compact"
    assert bench.set_config(TOPIC, "a", "cleanup.policy", "delete", op=3)[0] == 0
    assert bench.controller.controls.configuration.settings_of(resource)["cleanup.policy"] == "compact"
    code, said = bench.set_config(TOPIC, "a", "retention.ms", "1", op=2)
    assert code == ErrorCode.INVALID_CONFIG and "its type is not LIST" in said
    assert bench.set_config(TOPIC, "a", "cleanup.policy", None, op=1)[0] == 0
    assert resource not in bench.controller.controls.configuration.settings


def test_the_older_request_says_everything(bench: Bench) -> None:
    bench.set_config(TOPIC, "a", "retention.ms", "5")
    config = AlterableConfig(name="segment.ms", value="7")
    asked = AlterConfigsResource(resource_type=TOPIC, resource_name="a", configs=[config])
    assert bench.ask(AlterConfigsRequest(resources=[asked])).responses[0].error_code == 0
    assert bench.controller.controls.configuration.settings_of(ConfigResource(TOPIC, "a")) == {"segment.ms": "7"}


def test_where_a_setting_comes_from() -> None:
    bench = Bench(options={"static": {"log.retention.hours": "2", "log.segment.bytes": "5"}})
    configuration = bench.controller.controls.configuration
    assert configuration.topic_config("a", "retention.ms") == "7200000"
    assert configuration.topic_config("a", "segment.bytes") == "5"
    bench.add_broker(1)
    bench.set_config(BROKER, "", "log.retention.ms", "9")
    assert configuration.topic_config("a", "retention.ms") == "9"
    assert configuration.topic_config("a", "flush.ms") == str(2**63 - 1)


def update(bench: Bench, feature: str, level: int, kind: int = 1, validate_only: bool = False) -> tuple[int, str]:
    asked = FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=kind)
    response = bench.ask(UpdateFeaturesRequest(feature_updates=[asked], validate_only=validate_only))
    return response.error_code, response.error_message or ""


@pytest.mark.parametrize(
    ("feature", "level", "kind", "said"),
    [
        ("group.version", 0, 1, "without setting the upgrade type"),
        ("group.version", 0, 2, ""),
        ("group.version", 2, 1, "only supports versions 0-1"),
        ("group.version", -1, 1, "cannot be less than 0"),
        ("group.version", 1, 9, "does not support the given upgrade type"),
        ("no.such.version", 1, 1, "does not support this feature"),
        ("metadata.version", 29, 2, "might delete metadata information"),
        ("metadata.version", 29, 3, "Unsafe metadata downgrade is not supported"),
        ("metadata.version", 31, 1, "only supports versions 7-30"),
        ("metadata.version", 30, 1, ""),
        ("kraft.version", 0, 2, "Can't downgrade the version of this feature"),
    ],
)
def test_features(bench: Bench, feature: str, level: int, kind: int, said: str) -> None:
    code, message = update(bench, feature, level, kind)
    assert code == (ErrorCode.INVALID_UPDATE_VERSION if said else ErrorCode.NONE)
    assert said in message


def test_metadata_version_goes_up_and_back_where_records_are_the_same() -> None:
    bench = Bench(options={"bootstrap": bootstrap_records(MetadataVersion.IBP_4_0_IV1)})
    bench.add_broker(1)
    assert update(bench, "metadata.version", MetadataVersion.IBP_4_2_IV1, validate_only=True)[0] == 0
    assert bench.controller.controls.features.metadata_version is MetadataVersion.IBP_4_0_IV1
    assert update(bench, "metadata.version", MetadataVersion.IBP_4_2_IV1)[0] == 0
    assert bench.controller.controls.features.metadata_version is MetadataVersion.IBP_4_2_IV1
    assert update(bench, "metadata.version", MetadataVersion.IBP_4_0_IV1, kind=2)[0] == 0
    assert update(bench, "metadata.version", MetadataVersion.IBP_4_0_IV0, kind=2)[0] != 0
    topic_id = bench.create("a")
    assert bench.partition(topic_id).leader == 1


def test_eligible_leaders_are_switched_on_with_what_they_need() -> None:
    options = {"bootstrap": bootstrap_records(MetadataVersion.IBP_4_0_IV3), "static": {"min.insync.replicas": "2"}}
    bench = Bench(options=options)
    bench.add_broker(1)
    assert bench.set_config(BROKER, "1", "min.insync.replicas", "1")[0] == 0
    assert update(bench, "eligible.leader.replicas.version", 1)[0] == 0
    settings = bench.controller.controls.configuration
    assert settings.settings_of(ConfigResource(BROKER, "")) == {"min.insync.replicas": "2"}
    assert settings.settings_of(ConfigResource(BROKER, "1")) == {}
    assert bench.controller.controls.features.is_elr_enabled


def test_a_level_needs_every_broker(bench: Bench) -> None:
    bench.hold = False
    assert update(bench, "group.version", 0, kind=2)[0] == 0
    features = [f for f in registration(2).features if f.name != "group.version"]
    bench.ask(registration(2, features=features))
    code, said = update(bench, "group.version", 1)
    assert code == ErrorCode.INVALID_UPDATE_VERSION and "Broker 2 does not support this feature" in said


def quota(bench: Bench, entity: dict[str, str | None], **ops: Any) -> tuple[int, str]:
    entry = EntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in ops.items()],
    )
    result = bench.ask(AlterClientQuotasRequest(entries=[entry])).entries[0]
    return result.error_code, result.error_message or ""


@pytest.mark.parametrize(
    ("entity", "ops", "said"),
    [
        ({"user": "u"}, {"producer_byte_rate": 5.0}, ""),
        ({"user": None, "client-id": "c"}, {"request_percentage": 0.5}, ""),
        ({"ip": "10.0.0.1"}, {"connection_creation_rate": 5.0}, ""),
        ({}, {"producer_byte_rate": 5.0}, "Invalid empty client quota entity"),
        ({"planet": "x"}, {"producer_byte_rate": 5.0}, "Unhandled client quota entity type"),
        ({"user": ""}, {"producer_byte_rate": 5.0}, "Empty user not supported"),
        ({"user": "u", "ip": "10.0.0.1"}, {"connection_creation_rate": 5.0}, "Invalid quota entity combination"),
        ({"ip": "no address!"}, {"connection_creation_rate": 5.0}, "not a valid IP"),
        ({"user": "u"}, {"nonsense": 5.0}, "Invalid configuration key nonsense"),
        ({"user": "u"}, {"producer_byte_rate": -5.0}, "must be greater than 0"),
        ({"user": "u"}, {"producer_byte_rate": 5.5}, "cannot be a fractional value"),
        ({"user": "u"}, {"producer_byte_rate": 1e30}, "too large for a LONG"),
    ],
)
def test_quotas(bench: Bench, entity: dict[str, str | None], ops: dict[str, float], said: str) -> None:
    code, message = quota(bench, entity, **ops)
    assert code == (ErrorCode.INVALID_REQUEST if said else ErrorCode.NONE) and said in message
    assert bool(bench.controller.controls.client_quotas.quotas) is not bool(said)


def test_a_quota_is_removed(bench: Bench) -> None:
    quota(bench, {"user": "u"}, producer_byte_rate=5.0)
    before = bench.controller.next_write_offset
    quota(bench, {"user": "u"}, producer_byte_rate=5.0)
    assert bench.controller.next_write_offset == before, "nothing changed, nothing is written"
    assert quota(bench, {"user": "u"}, producer_byte_rate=None)[0] == 0
    assert not bench.controller.controls.client_quotas.quotas


def test_blocks_of_producer_ids(bench: Bench) -> None:
    epoch = bench.controller.controls.cluster.brokers[1].epoch
    starts = [
        bench.ask(AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch)).producer_id_start for _ in range(3)
    ]
    assert starts == [0, 1000, 2000]
    assert bench.refusal(AllocateProducerIdsRequest(broker_id=1, broker_epoch=5)).code == ErrorCode.STALE_BROKER_EPOCH
