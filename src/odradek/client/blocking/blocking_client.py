"""Methods of an asyncio client as blocking methods, with the same parameters and types."""

import functools
from abc import abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from odradek.client.async_context import EXIT_TIMEOUT_MS, BlockingContext
from odradek.client.blocking.loop_thread import LoopThread, shared_loop

_Inner = TypeVar("_Inner")
_Parameters = ParamSpec("_Parameters")
_Value = TypeVar("_Value")


class BlockingClient(BlockingContext, Generic[_Inner]):
    """Base of the blocking clients; `inner` is used only in the thread of the loop."""

    def __init__(self, inner: _Inner) -> None:
        self._loop: LoopThread = shared_loop()
        self._inner = inner

    def close_at_exit(self) -> None:
        self._loop.call(self._close_inner(EXIT_TIMEOUT_MS))

    @abstractmethod
    async def _close_inner(self, timeout_ms: float | None) -> None: ...


def blocking(
    method: Callable[Concatenate[_Inner, _Parameters], Coroutine[Any, Any, _Value]],
) -> Callable[Concatenate[Any, _Parameters], _Value]:
    """Make a blocking method of a coroutine method of the inner client."""

    @functools.wraps(method)
    def call(self: BlockingClient[_Inner], *arguments: _Parameters.args, **keywords: _Parameters.kwargs) -> _Value:
        return self._loop.call(method(self._inner, *arguments, **keywords))

    return cast(Callable[Concatenate[Any, _Parameters], _Value], call)


def in_loop(
    method: Callable[Concatenate[_Inner, _Parameters], _Value],
) -> Callable[Concatenate[Any, _Parameters], _Value]:
    """Make a method that calls a plain method of the inner client in the thread of the loop, which owns its state."""

    @functools.wraps(method)
    def call(self: BlockingClient[_Inner], *arguments: _Parameters.args, **keywords: _Parameters.kwargs) -> _Value:
        return self._loop.do(lambda: method(self._inner, *arguments, **keywords))

    return cast(Callable[Concatenate[Any, _Parameters], _Value], call)
