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
        #: By address: why.
        self._silent: dict[tuple[str, int], str] = {}
        self._strangers: set[tuple[str, int]] = set()

    def failed(self, peer: Destination, why: Exception) -> None:
        address = (peer.host, peer.port)
        if address not in self._silent:
            reason = self._silent[address] = str(why).removeprefix(f"{peer.host}:{peer.port}: ")
            logger.info("%s does not answer: %s; trying on", _name(peer), reason)

    def answered(self, peer: Destination, answer: Message) -> None:
        address = (peer.host, peer.port)
        if address in self._silent:
            del self._silent[address]
            logger.info("%s answers again", _name(peer))
        if getattr(answer, "error_code", 0) != ErrorCode.INCONSISTENT_CLUSTER_ID:
            self._strangers.discard(address)
        elif address not in self._strangers:
            self._strangers.add(address)
            logger.warning("%s belongs to another cluster: INCONSISTENT_CLUSTER_ID; trying on", _name(peer))

    def troubles(self) -> list[str]:
        """Return the current problems with unreachable nodes."""
        silent = [f"{host}:{port} does not answer: {why}" for (host, port), why in self._silent.items()]
        return silent + [f"{host}:{port} belongs to another cluster" for host, port in sorted(self._strangers)]


def _name(peer: Destination) -> str:
    return f"node {peer.id} at {peer.host}:{peer.port}" if peer.id >= 0 else f"{peer.host}:{peer.port}"
