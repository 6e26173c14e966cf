"""Clients as contexts: started at the beginning, closed at the end, whatever happened in between.

A block that ends by an error closes its client as one that ends well does: what was sent before the error is to arrive.
One that is interrupted (Ctrl-C, a task that is cancelled) ends soon: closing takes at most `EXIT_TIMEOUT_MS` then.
"""

import asyncio
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

#: What closing may take when the program is told to end: nobody waits there for a broker that is gone.
EXIT_TIMEOUT_MS = 5_000

_INTERRUPTIONS = (asyncio.CancelledError, KeyboardInterrupt, SystemExit, GeneratorExit)


class AsyncContext(ABC):
    @abstractmethod
    async def start(self) -> None: ...

    @abstractmethod
    async def close(self, timeout_ms: float | None = None) -> None: ...

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(_timeout_ms(error))


class BlockingContext(ABC):
    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def close(self, timeout_ms: float | None = None) -> None: ...

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(_timeout_ms(error))


def _timeout_ms(error: BaseException | None) -> float | None:
    return EXIT_TIMEOUT_MS if isinstance(error, _INTERRUPTIONS) else None
