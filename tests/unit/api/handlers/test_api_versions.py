"""ApiVersions: what is said, to whom."""

import pytest

from odradek.api.dispatch.context import ANONYMOUS, Context, Features, Services, Session
from odradek.api.dispatch.registry import Registry
from odradek.api.handlers.api_versions import handle
from odradek.protocol.api_keys import ListenerRole
from odradek.protocol.codec import decode, encode
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from odradek.protocol.schema import Versions

FEATURES = Features(
    supported={"metadata.version": Versions(7, 29), "group.version": Versions(0, 1)},
    finalized={"metadata.version": 27, "group.version": 0},
    finalized_epoch=42,
)


def context(version: int, features: Features = FEATURES) -> Context:
    session = Session(
        connection_id="a-b-0",
        listener_name="PLAINTEXT",
        listener=ListenerRole.BROKER,
        security_protocol="PLAINTEXT",
        client_address="127.0.0.1",
        registry=Registry(ListenerRole.BROKER),
        services=Services(features=lambda: features),
    )
    return Context(session, 18, version, 1, "client", ANONYMOUS)


def asked(name: str = "librdkafka", version: str = "2.8.0") -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name=name, client_software_version=version)


def answered(version: int, features: Features = FEATURES) -> ApiVersionsResponse:
    """As the client reads it."""
    response = handle(context(version, features), asked())
    return decode(ApiVersionsResponse, version, encode(response, version))


@pytest.mark.parametrize("version", range(5))
def test_every_version_lists_what_is_served(version: int) -> None:
    response = answered(version)
    assert response.error_code == 0
    assert [api.api_key for api in response.api_keys] == sorted(Registry(ListenerRole.BROKER).advertised)
    assert ApiVersion(api_key=18, min_version=0, max_version=4) in response.api_keys


def test_an_unknown_version_learns_the_known_ones() -> None:
    response = handle(context(0), None)
    assert decode(ApiVersionsResponse, 0, encode(response, 0)) == ApiVersionsResponse(
        error_code=35, api_keys=[ApiVersion(api_key=18, min_version=0, max_version=4)]
    )


def test_features_are_said_from_version_3_on() -> None:
    assert answered(2).supported_features == []
    assert answered(2).finalized_features_epoch == -1
    assert answered(3).finalized_features_epoch == 42


def test_a_feature_whose_lowest_level_is_0_is_said_from_version_4_on() -> None:
    metadata = SupportedFeatureKey(name="metadata.version", min_version=7, max_version=29)
    group = SupportedFeatureKey(name="group.version", min_version=0, max_version=1)
    assert answered(3).supported_features == [metadata]
    assert answered(4).supported_features == [metadata, group]


def test_a_finalized_level_of_0_is_not_said() -> None:
    said = [FinalizedFeatureKey(name="metadata.version", max_version_level=27, min_version_level=27)]
    assert answered(4).finalized_features == answered(3).finalized_features == said


@pytest.mark.parametrize("ready", [True, False])
def test_readiness_to_migrate_is_passed_on(ready: bool) -> None:
    assert answered(3, Features(zk_migration_ready=ready)).zk_migration_ready is ready


@pytest.mark.parametrize("name", ["", "-a", "a-", ".a", "a.", "a b", "ä", "a\n", "a_b"])
def test_software_that_has_no_proper_name_is_refused(name: str) -> None:
    for request in (asked(name=name), asked(version=name)):
        assert handle(context(3), request) == ApiVersionsResponse(error_code=42)
        assert handle(context(2), request).error_code == 0


@pytest.mark.parametrize("name", ["a", "7", "apache-kafka-java", "a.b-c.d", "a--b"])
def test_software_that_names_itself_is_remembered(name: str) -> None:
    ctx = context(4)
    assert handle(ctx, asked(name=name, version="1.2-rc.3")).error_code == 0
    assert (ctx.session.client_software_name, ctx.session.client_software_version) == (name, "1.2-rc.3")
