"""Connections to clusters, one set for each cluster, client id and process.

They are kept for as long as the process lives, since Spark uses its Python workers again: a worker that reads one range
after the other, or writes for one task after the other, stays connected.
"""

from functools import cache

from odradek.client.direct.leader_connections import Leaders
from odradek.client.settings.settings import ConsumerConfig
from odradek.common.addresses import HostPort

_CLIENT_ID = "odradek-spark"


@cache
def leaders_of(bootstrap: tuple[HostPort, ...], client_id: str, timeout_ms: int, lane: int = 0) -> Leaders:
    """Return the connections of this process. A process that works in several threads uses one lane for each."""
    return Leaders(bootstrap, client_id, timeout_ms)


def consumer_leaders(settings: ConsumerConfig) -> Leaders:
    """Return the connections for the settings of a read."""
    return leaders_of(settings.bootstrap_servers, settings.client_id or _CLIENT_ID, settings.request_timeout_ms)
