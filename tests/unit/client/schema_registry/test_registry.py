"""Schemas by id and by subject from a registry that speaks HTTP."""

import pytest

from odradek.client.schema_registry.registry import (
    RegisteredSchema,
    RegistryUnreachable,
    SchemaReference,
    SchemaRegistry,
    UnknownSchema,
    registry_at,
)
from odradek.common.failures import InputError
from support.fakes.schema_registry import registry_stub


def test_schemas_are_asked_for_once() -> None:
    with registry_stub() as stub:
        schema_id = stub.register("orders-value", '"string"')
        registry = SchemaRegistry(stub.url)
        assert registry.by_id(schema_id) == registry.by_id(schema_id) == RegisteredSchema('"string"', ())
        assert stub.asked == [f"/schemas/ids/{schema_id}"]


def test_subjects_versions_and_references() -> None:
    with registry_stub() as stub:
        first = stub.register("a b/c", '"int"')
        last = stub.register("a b/c", '"long"', ({"name": "x", "subject": "s", "version": 3},))
        registry = SchemaRegistry(stub.url)
        assert registry.latest("a b/c") == RegisteredSchema('"long"', (SchemaReference("x", "s", 3),), last)
        assert registry.referred(SchemaReference("x", "a b/c", 1)).text == '"int"'
        assert registry.id_of("a b/c", '"int"') == first
        for wrong in (lambda: registry.latest("none"), lambda: registry.id_of("a b/c", '"float"')):
            with pytest.raises(InputError, match="has n"):
                wrong()


def test_an_unknown_id_is_told_from_a_registry_that_does_not_answer() -> None:
    with registry_stub() as stub, pytest.raises(UnknownSchema, match="no schema with id 7"):
        SchemaRegistry(stub.url).by_id(7)
    with pytest.raises(RegistryUnreachable, match=stub.url):
        SchemaRegistry(stub.url).by_id(7)


def test_basic_authentication() -> None:
    with registry_stub("me", "pass:word") as stub:
        stub.register("s", '"int"')
        with_user = registry_at(stub.url.replace("//", "//me:pass%3Aword@"), None, None)
        assert (
            with_user == registry_at(f"{stub.url}/", "me", "pass:word") == SchemaRegistry(stub.url, "me", "pass:word")
        )
        assert with_user is not None and with_user.latest("s").text == '"int"'
        assert "pass" not in repr(with_user)
        with pytest.raises(RegistryUnreachable, match="401"):
            SchemaRegistry(stub.url).latest("s")


@pytest.mark.parametrize("url", ["localhost:8081", "ftp://x", "http://", ""])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(InputError, match="http://localhost:8081"):
        registry_at(url, None, None)
