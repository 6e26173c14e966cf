"""Event loops: uvloop's where it is installed, Python's own otherwise."""

import asyncio
from importlib import import_module
from importlib.util import find_spec


def new_event_loop() -> asyncio.AbstractEventLoop:
    if find_spec("uvloop") is None:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = import_module("uvloop").new_event_loop()
    return loop
