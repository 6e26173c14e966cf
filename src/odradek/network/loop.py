"""The event loop of a node: uvloop's where it is installed, Python's own otherwise."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from odradek.common.event_loop import new_event_loop

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine like asyncio.run, on that loop."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)
