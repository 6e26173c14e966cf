"""A shared map behaves as a dictionary that is copied for every change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.metadata.image.immutable_map import MapDelta, SharedMap

KEYS = st.integers(0, 300)
CHANGES = st.dictionaries(KEYS, st.none() | st.integers(), max_size=12)


def changed(model: dict[int, int], changes: dict[int, int | None]) -> dict[int, int]:
    model = dict(model)
    for key, value in changes.items():
        if value is None:
            model.pop(key, None)
        else:
            model[key] = value
    return model


@given(st.dictionaries(KEYS, st.integers(), max_size=300), st.lists(CHANGES, max_size=20))
def test_successors_equal_copied_dictionaries_and_leave_their_predecessors_alone(
    start: dict[int, int], steps: list[dict[int, int | None]]
) -> None:
    versions = [(SharedMap(start), dict(start))]
    for step in steps:
        shared, model = versions[-1]
        versions.append((shared.changed(step), changed(model, step)))
    for shared, model in versions:
        assert shared == model
        assert dict(shared.items()) == model
        assert len(shared) == len(model) == len(list(shared))
        assert all((key in shared) == (key in model) and shared.get(key) == model.get(key) for key in range(301))


@given(st.dictionaries(KEYS, st.integers(), min_size=100), CHANGES, CHANGES)
def test_equality_of_relatives_is_equality_of_content(
    start: dict[int, int], one: dict[int, int | None], other: dict[int, int | None]
) -> None:
    root = SharedMap(start)
    assert (root.changed(one) == root.changed(other)) == (changed(start, one) == changed(start, other))


def test_a_missing_key() -> None:
    with pytest.raises(KeyError):
        SharedMap({1: 2}).changed({1: None})[1]
    assert SharedMap({1: 2}) != 3


def test_a_few_changes_to_a_large_map_share_its_base() -> None:
    large = SharedMap({n: n for n in range(10_000)})
    successor = large.changed({5: 6})
    assert successor._base is large._base
    for n in range(10_000):
        successor = successor.changed({n: -n})
        assert len(successor._overlay) <= 2 * 100
    assert all(successor[n] == -n for n in range(10_000))


def test_what_came_and_went_within_a_delta_leaves_no_trace() -> None:
    delta = MapDelta(SharedMap({"a": 1}))
    delta.put("b", 2)
    delta.remove("b")
    assert delta.changes == {}
    delta.remove("a")
    assert delta.changes == {"a": None}
    assert delta.get("a") is None
    assert not delta.apply()
