"""Port for random numbers: `random.Random` in a node, a seeded one in tests and simulations."""

from collections.abc import MutableSequence, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Randomness(Protocol):
    """Methods of `random.Random` that this software uses."""

    def randrange(self, start: int, stop: int | None = None, /) -> int: ...

    def getrandbits(self, k: int, /) -> int: ...

    def randbytes(self, n: int, /) -> bytes: ...

    def uniform(self, a: float, b: float, /) -> float: ...

    def sample(self, population: Sequence[T], k: int) -> list[T]: ...

    def shuffle(self, x: MutableSequence[Any], /) -> None: ...
