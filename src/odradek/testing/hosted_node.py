"""A node of a test's cluster, wherever it runs: what can be asked of it, and what can be done to it.

Everything here blocks until it is done. Faults belong to a run of the node: one that was cut off or slowed down and is
then killed comes back without them.
"""

from abc import ABC, abstractmethod

from odradek.common.failures import InputError
from odradek.server.host.layout import LocalNode


class HostedNode(ABC):
    def __init__(self, node: LocalNode) -> None:
        self.id = node.id
        #: For clients.
        self.address = node.address
        #: Its log.dirs.
        self.data = node.data
        self.is_paused = False
        self.is_cut_off = False
        self._config_path = node.config_path
        self._log = node.log

    def __repr__(self) -> str:
        states = {"paused": self.is_paused, "cut off": self.is_cut_off, "running": True}
        state = next(state for state, is_so in states.items() if is_so) if self.is_running else "stopped"
        return f"<node {self.id} at {self.address}, {state}>"

    @property
    @abstractmethod
    def is_running(self) -> bool:
        """A paused one is; one that was killed, stopped or broke is not."""

    @property
    def can_answer(self) -> bool:
        return self.is_running and not self.is_paused and not self.is_cut_off

    def start(self) -> None:
        """Until clients can use it. Raises InputError or Fault with the reason if it cannot start."""
        if self.is_running:
            raise InputError(f"node {self.id} is running already.")
        self.is_paused = self.is_cut_off = False
        self._start()

    def stop(self) -> None:
        """Stop as an operator does: its leaderships move away first."""
        self._require_running("stopped")
        self.resume()
        self._stop()

    def kill(self) -> None:
        """At once, as kill -9: what it had not written to its files is gone, and nobody is told."""
        self._require_running("killed")
        self.is_paused = False
        self._kill()

    def pause(self) -> None:
        """It does nothing and answers nothing, and its connections stay, as with SIGSTOP."""
        self._require_running("paused")
        if not self.is_paused:
            self.is_paused = True
            self._pause()

    def resume(self) -> None:
        if self.is_paused:
            self.is_paused = False
            self._resume()

    def cut_off(self) -> None:
        """From everybody: its connections break, in both directions, and new ones are closed at once."""
        self._require_awake("cut off")
        self.is_cut_off = True
        self._cut_off()

    def heal(self) -> None:
        """The end of `cut_off`."""
        self._require_awake("healed")
        self.is_cut_off = False
        self._heal()

    def slow_disk(self, delay_ms: float) -> None:
        """Every read, write and sync takes so much longer; 0 is the end of it."""
        self._require_awake("slowed down")
        if delay_ms < 0:
            raise InputError(f"a disk cannot be {delay_ms} ms slower; 0 or more would be right.")
        self._slow_disk(delay_ms)

    @abstractmethod
    def _start(self) -> None: ...

    @abstractmethod
    def _stop(self) -> None: ...

    @abstractmethod
    def _kill(self) -> None: ...

    @abstractmethod
    def _pause(self) -> None: ...

    @abstractmethod
    def _resume(self) -> None: ...

    @abstractmethod
    def _cut_off(self) -> None: ...

    @abstractmethod
    def _heal(self) -> None: ...

    @abstractmethod
    def _slow_disk(self, delay_ms: float) -> None: ...

    def _require_running(self, what: str) -> None:
        if not self.is_running:
            raise InputError(f"node {self.id} is not running, so that it cannot be {what}; start({self.id}) starts it.")

    def _require_awake(self, what: str) -> None:
        self._require_running(what)
        if self.is_paused:
            raise InputError(f"node {self.id} is paused, so that it cannot be {what}; resume({self.id}) first.")
