"""Rules about the roles of a node: Kafka's rules for roles, voters and listeners together."""

from collections.abc import Sequence

from odradek.common.addresses import NOT_ROUTABLE
from odradek.server.config.endpoints import Listener, VoterAddress
from odradek.server.config.listeners import Listeners
from odradek.server.config.problems import Problems
from odradek.server.config.settings import Settings

BROKER = "broker"
CONTROLLER = "controller"

_NAMES = "controller.listener.names"
_VOTERS = "controller.quorum.voters"
_ADVERTISED = "advertised.listeners"


class RoleChecks:
    def __init__(
        self,
        settings: Settings,
        roles: Sequence[str],
        node_id: int,
        voters: Sequence[VoterAddress],
        listeners: Listeners,
        problems: Problems,
    ) -> None:
        self._settings = settings
        self._roles = roles
        self._node_id = node_id
        self._voter_ids = [voter.id for voter in voters]
        self._listeners = listeners
        self._problems = problems

    def run(self) -> None:
        self._check_controller_names_given()
        if CONTROLLER in self._roles:
            self._check_controller()
        else:
            self._check_only_broker()
        if BROKER in self._roles:
            self._check_broker()
        else:
            self._check_only_controller()
        self._check_routable(self._listeners.advertised_to_clients)
        self._check_routable(self._listeners.advertised_to_controllers)
        self._check_early_start()

    def _error(self, key: str, what: str, right: str) -> None:
        self._problems.error(self._settings.where(key), what, right)

    def _check_controller_names_given(self) -> None:
        if not self._listeners.controller_names:
            self._error(_NAMES, "it is missing.", "Name the listener that controllers use, for example CONTROLLER.")

    def _check_controller(self) -> None:
        if self._voter_ids and self._node_id not in self._voter_ids:
            self._error(
                _VOTERS,
                f"this node, {self._node_id}, is a controller and not among the voters {_list(self._voter_ids)}.",
                f"Add {self._node_id}@host:port, or take controller out of process.roles.",
            )
        bound = [listener.name for listener in self._listeners.bound]
        for name in self._listeners.controller_names:
            if name not in bound:
                self._error(
                    _NAMES,
                    f'"{name}" is not among the listeners {_list(bound)}.',
                    f"A controller listens on each of its names: add {name}://host:port to listeners.",
                )

    def _check_only_broker(self) -> None:
        if self._node_id in self._voter_ids:
            self._error(
                _VOTERS,
                f"this node, {self._node_id}, is only a broker and among the voters {_list(self._voter_ids)}.",
                "Give it another node.id, or add controller to process.roles.",
            )
        for listener in self._listeners.for_controllers:
            self._error(
                "listeners",
                f"{listener} is a listener of controllers, and this node is only a broker.",
                f"Take {listener.name} out of listeners; {_NAMES} says how to reach controllers elsewhere.",
            )
        for name in self._listeners.controller_names:
            if name not in self._listeners.protocols:
                self._error(
                    _NAMES,
                    f'"{name}" has no security protocol.',
                    f"Add {name}:PLAINTEXT or another protocol to listener.security.protocol.map.",
                )
        auto_join = "controller.quorum.auto.join.enable"
        if self._settings.boolean(auto_join):
            self._error(auto_join, "only a controller can join the quorum.", "It is false on a broker.")
        for key in ("create.topic.policy.class.name", "alter.config.policy.class.name"):
            if self._settings.is_given(key):
                self._problems.warning(self._settings.where(key), "only controllers use it, and this is a broker.")

    def _check_broker(self) -> None:
        advertised_names = [listener.name for listener in self._listeners.advertised_to_clients]
        bound = [listener.name for listener in self._listeners.bound]
        if not advertised_names:
            key = _ADVERTISED if self._settings.is_given(_ADVERTISED) else "listeners"
            self._error(key, "no listener is left for clients.", f"A broker has one that is not in {_NAMES}.")
            return
        if self._listeners.inter_broker_name not in advertised_names:
            self._error(
                "inter.broker.listener.name",
                f'"{self._listeners.inter_broker_name}" is not among the advertised listeners.',
                f"It is one of {_list(advertised_names)}.",
            )
        for name in advertised_names:
            if name not in bound:
                self._error(_ADVERTISED, f"this node does not listen on {name}.", f"Its listeners are {_list(bound)}.")

    def _check_only_controller(self) -> None:
        for listener in self._listeners.for_clients:
            self._error(
                "listeners",
                f"{listener} is a listener for clients, and this node is only a controller.",
                f"Take it out, or add {listener.name} to {_NAMES}, or add broker to process.roles.",
            )
        if self._settings.is_given(_ADVERTISED):
            for listener in self._listeners.advertised_to_clients:
                self._problems.warning(
                    self._settings.where(_ADVERTISED), f"nobody is told of {listener}: this node is only a controller."
                )
        key = "inter.broker.listener.name"
        if self._settings.is_given(key) and self._listeners.inter_broker_name in self._listeners.controller_names:
            self._error(
                key, f"{self._listeners.inter_broker_name} is for controllers.", "Leave it out on a controller."
            )

    def _check_routable(self, told: Sequence[Listener]) -> None:
        for listener in told:
            if listener.host == NOT_ROUTABLE:
                self._error(
                    _ADVERTISED,
                    f"{listener}: nobody can connect to {NOT_ROUTABLE}.",
                    f"Advertise a name or an address of this machine, for example {listener.name}://localhost:"
                    f"{listener.port}; {NOT_ROUTABLE} is for listeners only.",
                )

    def _check_early_start(self) -> None:
        bound = [listener.name for listener in self._listeners.bound]
        for name in self._settings.items("early.start.listeners"):
            if name and name.upper() not in bound:
                self._error(
                    "early.start.listeners", f'"{name}" is not among the listeners.', f"It is of {_list(bound)}."
                )


def _list(items: Sequence[object]) -> str:
    return ", ".join(map(str, items)) or "(none)"
