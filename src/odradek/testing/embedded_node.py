"""A node inside this process: in a thread of its own, with an event loop of its own.

Nothing that the test does in its own loop holds it up, and a client that blocks in the test can wait for it.

    start   the thread runs `_live`: the node's start, and then until it is told to end, or breaks
    stop    the node's own, in order
    kill    its files refuse everything, its connections are cut, its tasks cancelled; no part of it is stopped in
            order, so that what lies on disk is what a killed process leaves
    pause   the thread itself waits, and with it everything that the loop would do
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress

from odradek.common.failures import Fault
from odradek.common.files import OsFileSystem
from odradek.common.printable import printable
from odradek.server.config.server_config import load_server_config
from odradek.server.host.layout import LocalNode
from odradek.server.node import Node
from odradek.testing.faulty_files import Disk, FaultyFileSystem
from odradek.testing.faulty_network import Network, new_event_loop
from odradek.testing.hosted_node import HostedNode

logger = logging.getLogger("odradek.testing")

#: A task that was cancelled may await something in its turn; each time it is cancelled again.
_LAST_ROUNDS = 10
_ROUND_S = 1.0


class EmbeddedNode(HostedNode):
    def __init__(self, node: LocalNode, on_broken: Callable[[], None] = lambda: None) -> None:
        """`on_broken` is called, in the node's thread, when it has ended by itself."""
        super().__init__(node)
        self._on_broken = on_broken
        self._run: _Run | None = None

    @property
    def is_running(self) -> bool:
        return self._run is not None and self._run.is_alive

    def _start(self) -> None:
        self._run = _Run(self._config_path, f"odradek-node-{self.id}", self._on_broken)
        self._run.start()

    def _stop(self) -> None:
        self._current.stop()

    def _kill(self) -> None:
        self._current.kill()

    def _pause(self) -> None:
        self._current.pause()

    def _resume(self) -> None:
        self._current.resume()

    def _cut_off(self) -> None:
        self._current.call(Network.cut)

    def _heal(self) -> None:
        self._current.call(Network.heal)

    def _slow_disk(self, delay_ms: float) -> None:
        self._current.disk.delay_ms = delay_ms

    @property
    def _current(self) -> "_Run":
        assert self._run is not None
        return self._run


class _Run:
    """From one start of the node to its end. Public methods are for other threads than its own."""

    def __init__(self, config_path: str, name: str, on_broken: Callable[[], None]) -> None:
        self.disk = Disk()
        self._network = Network()
        self._config_path = config_path
        self._on_broken = on_broken
        self._node: Node | None = None
        self._loop = new_event_loop(self._network)
        self._ending = asyncio.Event()
        self._is_killed = False
        self._awake = threading.Event()
        self._ready: Future[None] = Future()
        self._thread = threading.Thread(target=self._be, name=name, daemon=True)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()
        try:
            self._ready.result()
        except Exception:
            self._thread.join()
            raise

    def stop(self) -> None:
        self._soon(self._ending.set)
        self._thread.join()

    def kill(self) -> None:
        self._is_killed = True
        self.disk.delay_ms = 0.0
        self._soon(self._die)
        self._awake.set()
        self._thread.join()

    def pause(self) -> None:
        self._awake.clear()
        self._soon(self._sleep)

    def resume(self) -> None:
        self._awake.set()

    def call(self, work: Callable[[Network, Node], None]) -> None:
        """In its loop, and done when this returns."""
        result: Future[None] = Future()

        def do() -> None:
            if self._node is not None:
                work(self._network, self._node)
            result.set_result(None)

        self._soon(do)
        result.result()

    def _soon(self, work: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # it has broken meanwhile, and its loop is closed
            self._loop.call_soon_threadsafe(work)

    # In the thread

    def _be(self) -> None:
        loop = self._loop
        try:
            loop.run_until_complete(self._live())
        except Exception as error:
            logger.exception("a node did not end well")
            if not self._ready.done():
                self._ready.set_exception(error)
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()
            self._node = None
        if not self._ending.is_set():
            self._on_broken()

    async def _live(self) -> None:
        config = load_server_config(OsFileSystem(), self._config_path)
        for warning in config.warnings:
            logger.warning("%s", printable(warning))
        node = self._node = Node(config, files=FaultyFileSystem(self.disk))
        ending = asyncio.ensure_future(self._ending.wait())
        living = asyncio.ensure_future(self._start_and_wait(node))
        await asyncio.wait([ending, living], return_when=asyncio.FIRST_COMPLETED)
        if self._is_killed:
            await self._bury(node)
            return
        for task in (ending, living):
            task.cancel()
        with suppress(asyncio.CancelledError, Fault):
            await living
        await node.stop()

    async def _start_and_wait(self, node: Node) -> None:
        try:
            await node.start()
        except Exception as error:  # noqa: BLE001  for whoever waits for it
            self._ready.set_exception(error)
            return
        self._ready.set_result(None)
        await node.wait()

    def _sleep(self) -> None:
        self._awake.wait()
        if self._is_killed:
            self._die()

    def _die(self) -> None:
        """All at once: nobody hears of files that failed, as nobody hears anything of a killed process."""
        self.disk.is_gone = True
        if self._node is not None:
            self._node.fault = Fault("killed")  # nothing that breaks now is worth a word
            self._loop.set_exception_handler(lambda loop, context: None)
            self._network.end(self._node)
        self._ending.set()

    async def _bury(self, node: Node) -> None:
        for _ in range(_LAST_ROUNDS):
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            if not tasks:
                break
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=_ROUND_S)
        await self._network.close_listeners(node)
        if hasattr(node, "dirs"):
            node.dirs.release()
        if not self._ready.done():
            self._ready.set_exception(Fault("the node was killed while it started"))
