"""An immutable map with cheap successors.

An image of a hundred thousand topics is succeeded by another one many times a second, and each time only a few keys
differ. A `SharedMap` is a large base that its successors share, and a small overlay of the keys that differ from it. A
successor copies only the overlay; when the overlay has grown to some multiple of the square root of the base, both are
merged into a new base. A change then costs about the square root of the size, spread over all changes.

Order is that of insertion and, as in a dictionary, no part of equality.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import isqrt
from typing import Any, Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

#: Overlay entries allowed for each unit of the base's square root. Copying an entry (20 ns) costs about as much as
#: merging one, so the best factor is near 1; a larger one saves memory churn in the base at little cost.
_OVERLAY_FACTOR: Final = 2

#: Maps below this size are simply copied.
_SMALL: Final = 64

_REMOVED: Final[Any] = type("Removed", (), {"__slots__": ()})()
_NOTHING: Final[dict[Any, Any]] = {}


#: Base, overlay and size of a map.
_Content = tuple[dict[K, V], dict[K, Any], int]


class SharedMap(Mapping[K, V]):
    __slots__ = ("_base", "_overlay", "_size")

    def __init__(self, base: Mapping[K, V] | None = None, successor: _Content[K, V] | None = None) -> None:
        """Copy `base`, or take over the content of a successor without copying it."""
        if successor is None:
            base = dict(base) if base else _NOTHING
            successor = (base, _NOTHING, len(base))
        self._base, self._overlay, self._size = successor

    def __getitem__(self, key: K) -> V:
        value: V = self.get(key, _REMOVED)
        if value is _REMOVED:
            raise KeyError(key)
        return value

    def get(self, key: K, default: Any = None) -> Any:
        value = self._overlay.get(key)
        if value is None:
            return self._base.get(key, default)
        return default if value is _REMOVED else value

    def __contains__(self, key: object) -> bool:
        value = self._overlay.get(key)  # type: ignore[arg-type]
        return key in self._base if value is None else value is not _REMOVED

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[K]:
        overlay = self._overlay
        if not overlay:
            yield from self._base
            return
        for key in self._base:
            if overlay.get(key) is not _REMOVED:
                yield key
        for key, value in overlay.items():
            if key not in self._base and value is not _REMOVED:
                yield key

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        if len(self) != len(other):
            return False
        overlaid = other.overlaid_keys(self._base) if isinstance(other, SharedMap) else None
        if overlaid is not None:
            keys = (*self._overlay, *overlaid)
            return all(self.get(key, _REMOVED) == other.get(key, _REMOVED) for key in keys)
        return all(other.get(key, _REMOVED) == value for key, value in self.items())

    __hash__ = None  # type: ignore[assignment]  # its values need not be hashable

    def __repr__(self) -> str:
        return f"SharedMap({dict(self.items())!r})"

    def changed(self, changes: Mapping[K, V | None]) -> "SharedMap[K, V]":
        """Return the successor in which each key of `changes` has its new value, or is removed if that is None."""
        if not changes:
            return self
        touched = len(self._overlay) + len(changes)
        if self._size < _SMALL or touched > _OVERLAY_FACTOR * isqrt(self._size):
            return self._merged(changes)
        overlay = {**self._overlay, **{k: _REMOVED if v is None else v for k, v in changes.items()}}
        size = self._size + sum((value is not None) - (key in self) for key, value in changes.items())
        return SharedMap(successor=(self._base, overlay, size))

    def overlaid_keys(self, base: dict[K, V]) -> Iterable[K] | None:
        """Return the keys whose values may differ from `base`; None if this map has another base."""
        return self._overlay if self._base is base else None

    def _merged(self, changes: Mapping[K, V | None]) -> "SharedMap[K, V]":
        base = self._base.copy()
        for key, value in (*self._overlay.items(), *changes.items()):
            if value is None or value is _REMOVED:
                base.pop(key, None)
            else:
                base[key] = value
        return SharedMap(successor=(base, _NOTHING, len(base)))


class MapDelta(Generic[K, V]):
    """Changes of a map: `changes` has the new value of each touched key, None if it is removed."""

    __slots__ = ("base", "changes")

    def __init__(self, base: SharedMap[K, V]) -> None:
        self.base = base
        self.changes: dict[K, V | None] = {}

    def get(self, key: K) -> V | None:
        if key in self.changes:
            return self.changes[key]
        value: V | None = self.base.get(key)
        return value

    def put(self, key: K, value: V) -> None:
        self.changes[key] = value

    def remove(self, key: K) -> None:
        """Remove the key. A key that was added within the delta leaves no trace."""
        if key in self.base:
            self.changes[key] = None
        else:
            self.changes.pop(key, None)

    def finish_snapshot(self) -> None:
        """Remove every key that the snapshot did not mention."""
        for key in self.base:
            self.changes.setdefault(key, None)

    def apply(self) -> SharedMap[K, V]:
        return self.base.changed(self.changes)
