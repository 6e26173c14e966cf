"""What only the coordinator of a group or of a transactional id can say or do.

Coordinators are looked up together, and each is asked for what is its own. What has moved meanwhile, or is being
loaded, is looked up again, until the operation's time is up.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import Outcomes, in_order
from odradek.client.errors import refusal
from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.common.addresses import HostPort
from odradek.errors import Refused, Unreachable
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from odradek.protocol.messages.find_coordinator_response import FindCoordinatorResponse

__all__ = ["CoordinatorKind", "ask_coordinators"]

_RETRY_BACKOFF_S = 0.1

_Value = TypeVar("_Value")


#: Where asking once more may help.
_PASSING = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NETWORK_EXCEPTION,
    # a transaction that is being ended
    ErrorCode.CONCURRENT_TRANSACTIONS,
)

Ask = Callable[[HostPort, Sequence[str]], Awaitable[Mapping[str, _Value | Refused]]]


async def ask_coordinators(
    cluster: ClusterRouter, kind: CoordinatorKind, keys: Sequence[str], ask: Ask[_Value]
) -> Outcomes[str, _Value]:
    """`ask` may be called again for what did not succeed."""
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + cluster.config.api_timeout_ms / 1000
    outcomes: dict[str, _Value | Refused] = {}
    left = list(dict.fromkeys(keys))
    while left:
        found, failed = await _find(cluster, kind, left)
        outcomes.update(failed)
        for address, group in found.items():
            try:
                outcomes.update(await ask(address, group))
            except Unreachable as error:
                outcomes.update(dict.fromkeys(group, Refused(error.message, ErrorCode.NETWORK_EXCEPTION)))
        left = [key for key in left if _may_pass(outcomes.get(key))]
        if loop.time() >= deadline_s:
            break
        if left:
            await asyncio.sleep(_RETRY_BACKOFF_S)
    return in_order(outcomes, keys)


async def _find(
    cluster: ClusterRouter, kind: CoordinatorKind, keys: Sequence[str]
) -> tuple[dict[HostPort, list[str]], dict[str, Refused]]:
    request = FindCoordinatorRequest(key_type=kind, coordinator_keys=list(keys))
    response: FindCoordinatorResponse = await cluster.send_to_any(request)
    found: dict[HostPort, list[str]] = {}
    failed: dict[str, Refused] = {}
    for each in response.coordinators:
        error = refusal(each.error_code, each.error_message)
        if error is None:
            found.setdefault(HostPort(each.host, each.port), []).append(each.key)
        else:
            failed[each.key] = error
    return found, failed


def _may_pass(outcome: object) -> bool:
    return isinstance(outcome, Refused) and outcome.code in _PASSING
