"""The effects of the current step, in the order in which the driver must carry them out."""

from collections.abc import Callable

from odradek.protocol.message import Message
from odradek.raft.effects import Effect, LeaderChange, Persist, Reply, Send
from odradek.raft.request_manager import RequestManager
from odradek.raft.values import Destination


class Outbox:
    """Collects what a step wants done: `emit` for any effect, `reply` to a request, `send` for a request to a peer."""

    def __init__(self, requests: RequestManager) -> None:
        self._requests = requests
        self._effects: list[Effect] = []

    def emit(self, effect: Effect) -> None:
        """Add an effect. Of two `Persist` effects with nothing between them that leaves the node, only the second is
        kept."""
        if isinstance(effect, Persist):
            last = next((e for e in reversed(self._effects) if not isinstance(e, LeaderChange)), None)
            if isinstance(last, Persist):
                self._effects.remove(last)
        self._effects.append(effect)

    def reply(self, handle: object, message: Message) -> None:
        self._effects.append(Reply(handle, message))

    def send(self, destination: Destination, build: Callable[[], Message], now_ms: int) -> tuple[bool, int]:
        """Send a request, unless one to `destination` is in flight or it is in its back-off. Return whether it is sent,
        and when the node can be sent the next one."""
        requests = self._requests
        if not requests.is_ready(destination.id, now_ms):
            return False, requests.ready_at_ms(destination.id, now_ms)
        message = build()
        request = requests.start_request(destination.id, type(message), now_ms)
        self._effects.append(Send(request.correlation_id, destination, message))
        return True, request.ends_ms

    def take(self) -> list[Effect]:
        """Return the effects, and start with an empty list again."""
        effects, self._effects = self._effects, []
        return effects
