"""Whether a node does what it is there for: the answer to a load balancer, or to whoever restarts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.lifecycle import BrokerState
from odradek.common.printable import printable

if TYPE_CHECKING:
    from odradek.server.node import Node


def ailment(node: Node) -> str:
    """What is wrong, in a few words; empty if nothing is."""
    if node.fault is not None:
        return printable(f"broken: {node.fault}")
    if getattr(node, "quorum", None) is None:
        return "starting"
    if node.quorum.raft.leader_and_epoch.leader_id is None:
        return "nobody leads the quorum"
    if node.config.is_broker:
        state = BrokerState.NOT_RUNNING if node.broker is None else node.broker.driver.state
        if state is not BrokerState.RUNNING:
            return f"the broker is {state.name}"
    return ""
