"""The blocking clients have what the asyncio clients have: each method, with the same parameters."""

import inspect
from typing import Any

import pytest

from odradek import client
from odradek.client import blocking

PAIRS = [(getattr(client, name), getattr(blocking, name)) for name in ("Admin", "Consumer", "Producer")]

#: Of asyncio's protocols, and what stands for them.
TWINS = {"__aenter__": "__enter__", "__aexit__": "__exit__", "__aiter__": "__iter__"}


def methods(kind: type) -> dict[str, Any]:
    found = {name: value for name, value in inspect.getmembers(kind, callable) if not name.startswith("_")}
    return found | {name: getattr(kind, name) for name in TWINS if hasattr(kind, name)}


def parameters(method: Any) -> list[tuple[str, Any, Any]]:
    return [(each.name, each.kind, each.default) for each in inspect.signature(method).parameters.values()]


@pytest.mark.parametrize(("inner", "face"), PAIRS, ids=[inner.__name__ for inner, _ in PAIRS])
def test_each_method_is_there_with_the_same_parameters(inner: type, face: type) -> None:
    assert len(methods(inner)) > 5
    for name, method in methods(inner).items():
        twin = getattr(face, TWINS.get(name, name), None)
        assert twin is not None, f"{face.__qualname__} has no {name}"
        assert parameters(twin) == parameters(method), name
        assert not inspect.iscoroutinefunction(inspect.unwrap(twin)) or twin is not method, name
    assert parameters(face.__init__) == parameters(inner.__init__)  # type: ignore[misc]


@pytest.mark.parametrize(("inner", "face"), PAIRS, ids=[inner.__name__ for inner, _ in PAIRS])
def test_nothing_of_the_face_is_a_coroutine_function(inner: type, face: type) -> None:
    assert [name for name, value in vars(face).items() if not name.startswith("_") and is_async(value)] == []


def is_async(value: object) -> bool:
    return inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value)


def test_public_names_are_found_and_others_are_not() -> None:
    for name in client.__all__:
        assert getattr(client, name) is not None
    assert set(client.__all__) <= set(dir(client))
    for room in (client, blocking):
        with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
            room.Nothing  # noqa: B018
