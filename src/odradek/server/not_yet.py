"""Settings that Kafka has, that this node knows, and that it could not honour yet.

Where ignoring one would leave a cluster less protected than its file says, the node does not start.
"""

from odradek.common.failures import InputError
from odradek.server.config import ServerConfig

#: What each would have brought.
_REFUSED = {
    "authorizer.class.name": "nobody would be authorised",
    "create.topic.policy.class.name": "no topic would be checked",
    "alter.config.policy.class.name": "no change of a setting would be checked",
}


def refuse_unserved(config: ServerConfig) -> None:
    settings = config.settings
    for key, consequence in _REFUSED.items():
        if settings.optional_text(key):
            raise InputError(f"{settings.where(key)}: there is no such thing here yet, so {consequence}. Leave it out.")
