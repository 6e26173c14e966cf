"""Quotas and credentials, as the image has them."""

from typing import Any

import pytest

from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY, MetadataImage, MetadataProvenance
from odradek.protocol.api_keys import ListenerRole
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages import alter_client_quotas_request as alter
from odradek.protocol.messages.describe_client_quotas_request import ComponentData, DescribeClientQuotasRequest
from odradek.protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from odradek.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from support.builders.api import ask, bench_services, session
from support.builders.controller import Bench

EXACT, DEFAULT, SPECIFIED = 0, 1, 2

ENTITIES: list[dict[str, str | None]] = [
    {"user": "alice"},
    {"user": "alice", "client-id": "app"},
    {"user": "bob", "client-id": None},
    {"user": None},
    {"client-id": "app"},
    {"ip": "10.0.0.1"},
    {"ip": None},
]


@pytest.fixture(scope="module")
def bench() -> Bench:
    made = Bench()
    entries = []
    for number, entity in enumerate(ENTITIES):
        key = "connection_creation_rate" if "ip" in entity else "producer_byte_rate"
        parts = [alter.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()]
        entries.append(alter.EntryData(entity=parts, ops=[alter.OpData(key=key, value=number + 1.0)]))
    answered = made.ask(alter.AlterClientQuotasRequest(entries=entries)).entries
    assert all(entry.error_code == 0 for entry in answered)
    return made


def described(bench: Bench, *components: tuple[str, int, str | None], strict: bool = False) -> Any:
    asked = [ComponentData(entity_type=kind, match_type=how, match=name) for kind, how, name in components]
    request = DescribeClientQuotasRequest(components=asked, strict=strict)
    return ask(session(bench_services(bench), ListenerRole.BROKER), request)


@pytest.mark.parametrize(
    ("components", "strict", "found"),
    [
        ([], False, [1, 2, 3, 4, 5, 6, 7]),
        ([], True, []),
        ([("user", EXACT, "alice")], False, [1, 2]),
        ([("user", EXACT, "alice")], True, [1]),
        ([("user", DEFAULT, None)], False, [4]),
        ([("user", SPECIFIED, None)], False, [1, 2, 3, 4]),
        ([("user", SPECIFIED, None)], True, [1, 4]),
        ([("user", SPECIFIED, None), ("client-id", SPECIFIED, None)], True, [2, 3]),
        ([("user", SPECIFIED, None), ("client-id", DEFAULT, None)], False, [3]),
        ([("client-id", EXACT, "app")], False, [2, 5]),
        ([("ip", SPECIFIED, None)], False, [6, 7]),
        ([("user", EXACT, "nobody")], False, []),
    ],
)
def test_filters(bench: Bench, components: list[tuple[str, int, str | None]], strict: bool, found: list[int]) -> None:
    response = described(bench, *components, strict=strict)
    assert response.error_code == 0
    assert sorted(value.value for entry in response.entries for value in entry.values) == found
    for entry in response.entries:
        entity = {part.entity_type: part.entity_name for part in entry.entity}
        assert entity == ENTITIES[int(entry.values[0].value) - 1]


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ([("", EXACT, "a")], ErrorCode.INVALID_REQUEST),
        ([("user", EXACT, "a"), ("user", DEFAULT, None)], ErrorCode.INVALID_REQUEST),
        ([("planet", EXACT, "mars")], ErrorCode.UNSUPPORTED_VERSION),
        ([("user", EXACT, None)], ErrorCode.INVALID_REQUEST),
        ([("user", DEFAULT, "a")], ErrorCode.INVALID_REQUEST),
        ([("user", SPECIFIED, "a")], ErrorCode.INVALID_REQUEST),
        ([("user", 7, None)], ErrorCode.INVALID_REQUEST),
        ([("ip", EXACT, "10.0.0.1"), ("user", EXACT, "a")], ErrorCode.INVALID_REQUEST),
    ],
)
def test_filters_that_mean_nothing(
    bench: Bench, components: list[tuple[str, int, str | None]], code: ErrorCode
) -> None:
    response = described(bench, *components)
    assert (response.error_code, response.entries) == (code, None)


def image_with_credentials() -> MetadataImage:
    delta = MetadataDelta(EMPTY)
    for name, mechanism, iterations in (("alice", 1, 4096), ("alice", 2, 8192), ("bob", 2, 4096)):
        delta.replay(
            UserScramCredentialRecord(
                name=name, mechanism=mechanism, salt=b"s", stored_key=b"k", server_key=b"k", iterations=iterations
            )
        )
    return delta.apply(MetadataProvenance())


def credentials(*users: str) -> list[tuple[str, int, list[tuple[int, int]]]]:
    services = bench_services(Bench())
    services.image = image_with_credentials
    request = DescribeUserScramCredentialsRequest(users=[UserName(name=user) for user in users] or None)
    response = ask(session(services, ListenerRole.BROKER), request)
    assert response.error_code == 0
    return [
        (r.user, r.error_code, [(info.mechanism, info.iterations) for info in r.credential_infos])
        for r in response.results
    ]


def test_everybodys_credentials() -> None:
    assert sorted(credentials()) == [("alice", 0, [(1, 4096), (2, 8192)]), ("bob", 0, [(2, 4096)])]


def test_credentials_of_some() -> None:
    assert credentials("bob", "nobody", "alice", "alice") == [
        ("bob", 0, [(2, 4096)]),
        ("nobody", ErrorCode.RESOURCE_NOT_FOUND, []),
        ("alice", ErrorCode.DUPLICATE_RESOURCE, []),
    ]
