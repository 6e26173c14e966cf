"""Methods of an asyncio client, as methods that wait: with the same parameters, and typed."""

import functools
from abc import abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from odradek.client.async_context import EXIT_TIMEOUT_MS, BlockingContext
from odradek.client.blocking.loop_thread import LoopThread, shared_loop

_Inner = TypeVar("_Inner")
_Parameters = ParamSpec("_Parameters")
_Value = TypeVar("_Value")


class Face(BlockingContext, Generic[_Inner]):
    """`inner` is touched only in the loop's thread."""

    def __init__(self, inner: _Inner) -> None:
        self._loop: LoopThread = shared_loop()
        self._inner = inner

    def close_at_exit(self) -> None:
        self._loop.call(self._close_inner(EXIT_TIMEOUT_MS))

    @abstractmethod
    async def _close_inner(self, timeout_ms: float | None) -> None: ...


def waiting(
    method: Callable[Concatenate[_Inner, _Parameters], Coroutine[Any, Any, _Value]],
) -> Callable[Concatenate[Any, _Parameters], _Value]:
    """A coroutine method of the inner client; the caller waits."""

    @functools.wraps(method)
    def call(face: Face[_Inner], *arguments: _Parameters.args, **keywords: _Parameters.kwargs) -> _Value:
        return face._loop.call(method(face._inner, *arguments, **keywords))

    return cast(Callable[Concatenate[Any, _Parameters], _Value], call)


def at_once(
    method: Callable[Concatenate[_Inner, _Parameters], _Value],
) -> Callable[Concatenate[Any, _Parameters], _Value]:
    """A plain method of the inner client; it is called in the loop's thread, where its state is."""

    @functools.wraps(method)
    def call(face: Face[_Inner], *arguments: _Parameters.args, **keywords: _Parameters.kwargs) -> _Value:
        return face._loop.do(lambda: method(face._inner, *arguments, **keywords))

    return cast(Callable[Concatenate[Any, _Parameters], _Value], call)
