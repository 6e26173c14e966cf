"""Health of a node, for load balancers and for supervisors that restart it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.lifecycle import BrokerState
from odradek.common.printable import printable

if TYPE_CHECKING:
    from odradek.server.node import Node


def health_problem(node: Node) -> str:
    """Return a short description of what is wrong; an empty string if nothing is."""
    if node.fault is not None:
        return printable(f"broken: {node.fault}")
    if getattr(node, "quorum", None) is None:
        return "starting"
    if node.quorum.raft.leader_and_epoch.leader_id is None:
        return "the quorum has no leader"
    if node.config.is_broker:
        state = BrokerState.NOT_RUNNING if node.broker is None else node.broker.driver.state
        if state is not BrokerState.RUNNING:
            return f"the broker is {state.name}"
    return ""
