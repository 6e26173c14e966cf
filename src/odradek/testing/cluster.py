"""A cluster for a test, from nothing to ready in a fraction of a second, and nothing left of it afterwards.

    async with Cluster(nodes=3) as cluster:         with Cluster(nodes=3) as cluster:
        await cluster.kill(2)                           cluster.kill(2)

Nodes are threads of this process, or with `processes=True` processes; either way the test's own event loop has nothing
to do with them. They are brokers 1, 2, …; the first three of three or more are the quorum, otherwise node 1 is. The
operations are the same in both forms: in `async with` they are awaited, in `with` they block and may be awaited
nevertheless, so that a fixture that is not asynchronous serves tests that are.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from types import MappingProxyType, TracebackType
from typing import Self

from odradek.client.admin.topics import NewTopic
from odradek.common.failures import InputError
from odradek.common.system_clock import SystemClock
from odradek.server.host.layout import LocalNode, ports_needed, prepare_cluster
from odradek.testing.faulty_files import Disk, FaultyFileSystem
from odradek.testing.hosted_node import HostedNode
from odradek.testing.ports import PortRow
from odradek.testing.topics import create_topic, delete_topic, wait_until_in_sync

#: More than this on one machine is a mistake.
_NODES_MAX = 32

#: Kafka's are for many machines, some of them slow; here all answer at once, and a test waits for what they decide.
_DEFAULTS = {
    "controller.quorum.election.timeout.ms": "100",
    "controller.quorum.fetch.timeout.ms": "1000",
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "3000",
}


#: A node whose start has just begun cannot be killed yet.
_LOOK_S = 0.05


class _Done:
    """Awaitable that is already complete."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


class Cluster:
    """A Kafka cluster for a test, gone with its block; `bootstrap` is its address.

    with Cluster() as cluster: ...  # or, with operations that are awaited:
    async with Cluster(nodes=3) as cluster:
        await cluster.create_topic("orders", replication_factor=3)
        await cluster.kill(2)
    """

    def __init__(
        self,
        nodes: int = 1,
        *,
        processes: bool = False,
        settings: Mapping[str, object] | None = None,
        directory: str | None = None,
    ) -> None:
        """`settings` are a broker's, by Kafka's names, for all nodes. `directory` is where the cluster is kept from one
        time to the next; without it nothing is kept."""
        if not 1 <= nodes <= _NODES_MAX:
            raise InputError(f"nodes={nodes}: a cluster has 1 to {_NODES_MAX} nodes.")
        self._node_count = nodes
        self._processes = processes
        self._settings = _DEFAULTS | {key: _text(value) for key, value in (settings or {}).items()}
        self._kept = os.path.abspath(directory) if directory is not None else None
        self._directory = ""
        self._ports: PortRow | None = None
        self._nodes: dict[int, HostedNode] = {}
        self._is_awaited = False

    @property
    def nodes(self) -> Mapping[int, HostedNode]:
        """Nodes by id, from 1 on."""
        return MappingProxyType(self._nodes)

    @property
    def bootstrap(self) -> str:
        """For clients' `bootstrap.servers`: all nodes, running or not."""
        if not self._nodes:
            raise InputError("the cluster has not started: use it as `async with Cluster() as cluster:`.")
        return ",".join(node.address for node in self._nodes.values())

    @property
    def directory(self) -> str:
        return self._directory

    def __enter__(self) -> Self:
        self._start_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    async def __aenter__(self) -> Self:
        self._is_awaited = True
        starting = asyncio.ensure_future(asyncio.to_thread(self._start_all))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:  # the thread goes on all the same
            await asyncio.wait([starting])
            await asyncio.to_thread(self._end)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._end)

    # Faults

    def start(self, node_id: int) -> Awaitable[None]:
        """Again, after `kill` or `stop`."""
        return self._do(self._node(node_id).start)

    def stop(self, node_id: int) -> Awaitable[None]:
        """Stop a node as an operator does: leaderships move away first."""
        return self._do(self._node(node_id).stop)

    def restart(self, node_id: int) -> Awaitable[None]:
        """`stop` and `start`."""
        node = self._node(node_id)

        def restart() -> None:
            node.stop()
            node.start()

        return self._do(restart)

    def kill(self, node_id: int) -> Awaitable[None]:
        """Kill a node as kill -9 does."""
        return self._do(self._node(node_id).kill)

    def pause(self, node_id: int) -> Awaitable[None]:
        """Pause a node as SIGSTOP does: connections stay open, nothing is answered."""
        return self._do(self._node(node_id).pause)

    def resume(self, node_id: int) -> Awaitable[None]:
        return self._do(self._node(node_id).resume)

    def cut_off(self, node_id: int) -> Awaitable[None]:
        """From clients and from the other nodes: connections break, and new ones are closed at once."""
        return self._do(self._node(node_id).cut_off)

    def heal(self, node_id: int) -> Awaitable[None]:
        return self._do(self._node(node_id).heal)

    def slow_disk(self, node_id: int, delay_ms: float) -> Awaitable[None]:
        """Every read, write and sync takes so much longer; 0 is the end of it."""
        node = self._node(node_id)
        return self._do(lambda: node.slow_disk(delay_ms))

    # Topics

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int | None = None,
        configs: Mapping[str, object] | None = None,
    ) -> Awaitable[None]:
        """Done once every running node knows of it, and who leads its partitions."""
        texts = {key: _text(value) for key, value in (configs or {}).items()}
        topic = NewTopic(name, partitions, replication_factor, configs=texts)
        return self._do(lambda: _in_a_loop(lambda: create_topic(self._awake(), topic)))

    def delete_topic(self, name: str) -> Awaitable[None]:
        return self._do(lambda: _in_a_loop(lambda: delete_topic(self._awake(), name)))

    def wait_until_in_sync(self) -> Awaitable[None]:
        """Until every partition has a leader, and every replica on a running node is in sync: after a node has come
        back, before the next fault."""
        return self._do(lambda: _in_a_loop(lambda: wait_until_in_sync(self._awake())))

    # Inside

    def _do(self, work: Callable[[], None]) -> Awaitable[None]:
        if self._is_awaited:
            return asyncio.to_thread(work)
        work()
        return _Done()

    def _awake(self) -> dict[int, str]:
        """Return the addresses of the nodes that can respond, by id."""
        return {node.id: node.address for node in self._nodes.values() if node.can_answer}

    def _node(self, node_id: int) -> HostedNode:
        if node_id not in self._nodes:
            there_are = f"1 to {len(self._nodes)}" if self._nodes else "none before the cluster has started"
            raise InputError(f"there is no node {node_id}; there are {there_are}.")
        return self._nodes[node_id]

    def _start_all(self) -> None:
        try:
            self._directory = self._kept or tempfile.mkdtemp(prefix="odradek-")
            self._ports = PortRow(ports_needed(self._node_count))
            made = prepare_cluster(
                FaultyFileSystem(Disk()),
                SystemClock(),
                self._directory,
                self._node_count,
                self._ports.first,
                self._settings,
            )
            self._nodes = {node.id: self._hosted(node) for node in made}
            self._start_nodes()
        except BaseException:
            self._end()
            raise

    def _start_nodes(self) -> None:
        """All at once: they wait for each other. Where one cannot start, the others need not wait any longer."""
        pool = ThreadPoolExecutor(len(self._nodes), "odradek-start")
        starting = [pool.submit(node.start) for node in self._nodes.values()]
        try:
            ended, _ = wait(starting, return_when=FIRST_EXCEPTION)
            for task in ended:
                task.result()
        except BaseException:
            while not all(task.done() or task.cancel() for task in starting):
                self._kill_all()
                wait(starting, _LOOK_S)
            raise
        finally:
            pool.shutdown()

    def _hosted(self, node: LocalNode) -> HostedNode:
        if self._processes:
            from odradek.testing.process_node import ProcessNode

            return ProcessNode(node)
        from odradek.testing.embedded_node import EmbeddedNode

        return EmbeddedNode(node)

    def _kill_all(self) -> None:
        for node in self._nodes.values():
            with suppress(InputError):  # it does not run
                node.kill()

    def _end(self) -> None:
        """Without waiting for a goodbye: what was written is there, if it is to be kept."""
        self._kill_all()
        self._nodes = {}
        if self._ports is not None:
            self._ports.release()
            self._ports = None
        if self._directory and not self._kept:
            shutil.rmtree(self._directory, ignore_errors=True)


def _text(value: object) -> str:
    """Return the text as in a properties file."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _in_a_loop(work: Callable[[], Coroutine[None, None, None]]) -> None:
    """Run in an event loop of its own: the caller may be within one."""
    with ThreadPoolExecutor(1, "odradek-topics") as pool:
        pool.submit(lambda: asyncio.run(work())).result()
