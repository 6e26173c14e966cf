"""A network of the test's own: every node in a network namespace with an address of its own, and cuts between them.

`with Network() as network:` makes a bridge; `network.place(node)` puts a node behind it, before the cluster is
formatted. `cut(a, b)` lets nothing through from a to b: packets go to an address that nobody has, so that neither side
hears of it, as with a cable that is pulled. The other direction goes on. `heal` undoes all cuts.
"""

import contextlib
import itertools
import os
import subprocess

from support.processes.nodes import Node

#: Where the test itself is.
CLIENT = 254

_NOWHERE = "02:00:00:00:ff:ff"
_numbers = itertools.count()


def is_possible() -> bool:
    """Whether this machine lets a test make namespaces and bridges."""
    with contextlib.suppress(subprocess.CalledProcessError, OSError), Network():
        return True
    return False


class Network:
    def __init__(self) -> None:
        number = next(_numbers)
        self._name = f"o{os.getpid() % 100_000}x{number}"
        self._prefix = f"10.{100 + os.getpid() % 100}.{number % 250}"
        self._nodes: list[int] = []
        self._cuts: list[tuple[int, int]] = []

    def __enter__(self) -> "Network":
        _run("ip", "link", "add", self._name, "type", "bridge")
        try:
            _run("ip", "addr", "add", f"{self.address(CLIENT)}/24", "dev", self._name)
            _run("ip", "link", "set", self._name, "up")
            self._add_namespace(0)
        except subprocess.CalledProcessError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """A namespace lives on while the system still tries to end a killed process's connections; links need not."""
        for number in self._nodes:
            for what in (["link", "del", self._link(number)], ["netns", "del", self._namespace(number)]):
                subprocess.run(["ip", *what], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self._name], check=False)

    def address(self, number: int) -> str:
        return f"{self._prefix}.{number or 253}"

    def place(self, node: Node) -> None:
        self._add_namespace(node.id)
        node.host = self.address(node.id)
        node.launcher = ["ip", "netns", "exec", self._namespace(node.id)]

    def cut(self, source: int, target: int) -> None:
        device = self._name if source == CLIENT else "eth0"
        neighbour = [self.address(target), "lladdr", _NOWHERE, "dev", device, "nud", "permanent"]
        _run(*self._inside(source), "ip", "neigh", "replace", *neighbour)
        self._cuts.append((source, target))

    def cut_both_ways(self, one: int, other: int) -> None:
        self.cut(one, other)
        self.cut(other, one)

    def heal(self) -> None:
        for source, target in self._cuts:
            device = self._name if source == CLIENT else "eth0"
            _run(*self._inside(source), "ip", "neigh", "del", self.address(target), "dev", device)
        self._cuts.clear()

    def _add_namespace(self, number: int) -> None:
        namespace, outside = self._namespace(number), self._link(number)
        _run("ip", "netns", "add", namespace)
        self._nodes.append(number)
        inside = ["ip", "-n", namespace]
        _run("ip", "link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        _run("ip", "link", "set", outside, "master", self._name, "up")
        _run(*inside, "addr", "add", f"{self.address(number)}/24", "dev", "eth0")
        _run(*inside, "link", "set", "eth0", "up")
        _run(*inside, "link", "set", "lo", "up")

    def _namespace(self, number: int) -> str:
        return f"{self._name}n{number}"

    def _link(self, number: int) -> str:
        return f"{self._name}v{number}"

    def _inside(self, number: int) -> list[str]:
        return [] if number == CLIENT else ["ip", "netns", "exec", self._namespace(number)]


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
