"""A map that never changes, and cheap successors of it.

An image of a hundred thousand topics is succeeded by another one many times a second, and each time only a few keys
differ. A `SharedMap` is a large base that its successors share and a small dictionary of what differs from it. A
successor copies only the small one; when that has grown to some multiple of the square root of the base, both are
merged into a new base. A change then costs about the square root of the size, spread over all changes.

Order is that of insertion and, as in a dictionary, no part of equality.
"""

from collections.abc import Iterator, Mapping
from math import isqrt
from typing import Any, Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

#: Overlay entries allowed for each unit of the base's square root. Copying an entry (20 ns) is about as dear as merging
#: one, so the best factor is near 1; a larger one saves memory churn in the base at little cost.
_OVERLAY_FACTOR: Final = 2

#: Maps below this size are simply copied.
_SMALL: Final = 64

_GONE: Final[Any] = type("Gone", (), {"__slots__": ()})()
_NOTHING: Final[dict[Any, Any]] = {}


class SharedMap(Mapping[K, V]):
    __slots__ = ("_base", "_overlay", "_size")

    def __init__(self, base: Mapping[K, V] | None = None) -> None:
        self._base: dict[K, V] = dict(base) if base else _NOTHING
        self._overlay: dict[K, Any] = _NOTHING
        self._size = len(self._base)

    def __getitem__(self, key: K) -> V:
        found: V = self.get(key, _GONE)
        if found is _GONE:
            raise KeyError(key)
        return found

    def get(self, key: K, default: Any = None) -> Any:
        found = self._overlay.get(key)
        if found is None:
            return self._base.get(key, default)
        return default if found is _GONE else found

    def __contains__(self, key: object) -> bool:
        found = self._overlay.get(key)  # type: ignore[arg-type]
        return key in self._base if found is None else found is not _GONE

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[K]:
        overlay = self._overlay
        if not overlay:
            yield from self._base
            return
        for key in self._base:
            if overlay.get(key) is not _GONE:
                yield key
        for key, value in overlay.items():
            if key not in self._base and value is not _GONE:
                yield key

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        if len(self) != len(other):
            return False
        if isinstance(other, SharedMap) and self._base is other._base:
            touched = (*self._overlay, *other._overlay)
            return all(self.get(key, _GONE) == other.get(key, _GONE) for key in touched)
        return all(other.get(key, _GONE) == value for key, value in self.items())

    __hash__ = None  # type: ignore[assignment]  # its values need not be hashable

    def __repr__(self) -> str:
        return f"SharedMap({dict(self.items())!r})"

    def changed(self, changes: Mapping[K, V | None]) -> "SharedMap[K, V]":
        """The successor in which each key of `changes` has its value, or is gone where that is None."""
        if not changes:
            return self
        touched = len(self._overlay) + len(changes)
        if self._size < _SMALL or touched > _OVERLAY_FACTOR * isqrt(self._size):
            return self._merged(changes)
        successor: SharedMap[K, V] = SharedMap()
        successor._base = self._base
        successor._overlay = {**self._overlay, **{k: _GONE if v is None else v for k, v in changes.items()}}
        successor._size = self._size + sum((value is not None) - (key in self) for key, value in changes.items())
        return successor

    def _merged(self, changes: Mapping[K, V | None]) -> "SharedMap[K, V]":
        base = self._base.copy()
        for key, value in (*self._overlay.items(), *changes.items()):
            if value is None or value is _GONE:
                base.pop(key, None)
            else:
                base[key] = value
        successor: SharedMap[K, V] = SharedMap()
        successor._base = base
        successor._size = len(base)
        return successor


class MapDelta(Generic[K, V]):
    """What differs from a map: `changes` has the new value of each touched key, None where it is gone."""

    __slots__ = ("base", "changes")

    def __init__(self, base: SharedMap[K, V]) -> None:
        self.base = base
        self.changes: dict[K, V | None] = {}

    def get(self, key: K) -> V | None:
        if key in self.changes:
            return self.changes[key]
        found: V | None = self.base.get(key)
        return found

    def put(self, key: K, value: V) -> None:
        self.changes[key] = value

    def remove(self, key: K) -> None:
        """A key that came and went within the delta leaves no trace."""
        if key in self.base:
            self.changes[key] = None
        else:
            self.changes.pop(key, None)

    def finish_snapshot(self) -> None:
        """A snapshot says everything: what it did not mention is gone."""
        for key in self.base:
            self.changes.setdefault(key, None)

    def apply(self) -> SharedMap[K, V]:
        return self.base.changed(self.changes)
