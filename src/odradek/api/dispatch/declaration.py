"""Declaration of an API by its handler: `API = Api(...)` in each module of `odradek.api.handlers`.

Versions and listeners are those of the protocol's table unless a handler narrows them. `tools/make_handler_index.py`
collects the declarations into `handler_index`, so that a node knows what it serves without importing a handler.
"""

from dataclasses import dataclass

from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.schema import Versions

#: Modules with which a broker forwards requests to the active controller: as they are, or after looking at settings
#: that concern the broker itself.
FORWARDED = "odradek.api.dispatch.forwarding"
FORWARDED_CONFIGS = "odradek.api.shared.config_forwarding"


@dataclass(frozen=True, slots=True)
class Api:
    key: ApiKey
    #: None: all versions that the protocol's table has for the listener.
    versions: Versions | None = None
    #: None: all listeners that the protocol's table has it on.
    listeners: tuple[ListenerRole, ...] | None = None
    #: The handler waits for data or for time and holds nothing meanwhile. Such a request does not count towards
    #: `queued.max.requests` (or waiting consumers could keep everybody else out), and is dropped with its connection.
    long_poll: bool = False
    #: All that the handler changes is changed before it first waits, so that the next request of the connection may
    #: start meanwhile. Otherwise requests of a connection are handled one after the other, on which Kafka's clients
    #: rely.
    pipelined: bool = False
    #: The handler may return the same response object again, unchanged: it is encoded only once.
    repeats: bool = False
    #: Module whose `quick` answers the usual request at less cost.
    quick: str | None = None
    #: Module with which brokers forward the request to the active controller; `listeners` are the controller's then.
    forwarded_by: str | None = None
