"""What the coordinator reads of the protocol that consumers speak among themselves.

Their metadata begins with a version; the layout of version 0 begins every other one, and topics come first in it.
"""

import logging
from collections.abc import Iterable

from odradek.common.failures import ProtocolError
from odradek.protocol.codec import decode_prefix
from odradek.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription

_log = logging.getLogger("odradek.groups")

PROTOCOL_TYPE = "consumer"

_VERSION_BYTES = 2


def subscribed_topics(group_id: str, metadata_of_members: Iterable[bytes]) -> frozenset[str] | None:
    """What all of them together are subscribed to; None if one of them does not say so in a form that can be read."""
    topics: list[str] = []
    try:
        for metadata in metadata_of_members:
            subscription, _ = decode_prefix(ConsumerProtocolSubscription, 0, metadata, _VERSION_BYTES)
            topics += subscription.topics
    except ProtocolError as error:
        _log.warning("group %s: a member's subscription cannot be read (%s)", group_id, error)
        return None
    return frozenset(topics)
