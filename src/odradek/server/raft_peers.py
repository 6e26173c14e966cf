"""Whom a replica cannot talk to, and why: one line when it begins, one when it ends, however often it is tried.

There are as many peers as voters and bootstrap servers; that bounds what is remembered.
"""

import logging

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.raft.values import Destination

logger = logging.getLogger("odradek.raft")


class Peers:
    def __init__(self) -> None:
        self._silent: set[tuple[str, int]] = set()
        self._strangers: set[tuple[str, int]] = set()

    def failed(self, peer: Destination, why: Exception) -> None:
        address = (peer.host, peer.port)
        if address not in self._silent:
            self._silent.add(address)
            reason = str(why).removeprefix(f"{peer.host}:{peer.port}: ")
            logger.info("%s does not answer: %s; trying on", _name(peer), reason)

    def answered(self, peer: Destination, answer: Message) -> None:
        address = (peer.host, peer.port)
        if address in self._silent:
            self._silent.discard(address)
            logger.info("%s answers again", _name(peer))
        if getattr(answer, "error_code", 0) != ErrorCode.INCONSISTENT_CLUSTER_ID:
            self._strangers.discard(address)
        elif address not in self._strangers:
            self._strangers.add(address)
            logger.warning("%s belongs to another cluster: INCONSISTENT_CLUSTER_ID; trying on", _name(peer))


def _name(peer: Destination) -> str:
    return f"node {peer.id} at {peer.host}:{peer.port}" if peer.id >= 0 else f"{peer.host}:{peer.port}"
