"""The event loop of a node: uvloop's where it is installed, Python's own otherwise."""

import asyncio
from collections.abc import Coroutine
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

T = TypeVar("T")


def new_event_loop() -> asyncio.AbstractEventLoop:
    if find_spec("uvloop") is None:
        return asyncio.new_event_loop()
    made: asyncio.AbstractEventLoop = import_module("uvloop").new_event_loop()
    return made


def run(main: Coroutine[Any, Any, T]) -> T:
    """As asyncio.run, on that loop."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)
