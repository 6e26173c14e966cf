"""The part of a plan that says in which log directories replicas are to be.

A replica that is already on its broker moves by itself. One that comes with the reassignment is made in the directory,
if its broker knows in time; so brokers are told before the reassignment begins, and again until they have it.
"""

import asyncio

from odradek.cli.base.output import Progress, plural
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.log_dirs import Replica, alter_replica_log_dirs, find_replicas
from odradek.client.admin.outcomes import Outcomes
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode

LogDirs = dict[Replica, str]

#: As long as Kafka's tool: a reassignment that has begun makes its replicas within it.
_TOLD_S = 10
_LOOK_S = 0.5

DONE, MOVING, ELSEWHERE = "done", "moving", "elsewhere"


async def begin(cluster: ClusterRouter, wanted: LogDirs) -> Outcomes[Replica, None]:
    """Tell brokers; replicas that are not there yet are asked for again for a while."""
    outcomes = dict(await alter_replica_log_dirs(cluster, wanted))
    deadline_s = asyncio.get_running_loop().time() + _TOLD_S
    while (missing := _missing(outcomes, wanted)) and asyncio.get_running_loop().time() < deadline_s:
        await asyncio.sleep(_LOOK_S)
        outcomes |= await alter_replica_log_dirs(cluster, missing)
    return outcomes


async def prepare(cluster: ClusterRouter, wanted: LogDirs) -> None:
    """Before the reassignment: what is refused now is told when it is asked for again."""
    await alter_replica_log_dirs(cluster, wanted)


async def states(cluster: ClusterRouter, wanted: LogDirs) -> dict[Replica, str]:
    places = await find_replicas(cluster, wanted)
    found = {}
    for replica, path in wanted.items():
        place = places.get(replica)
        if place is not None and place.path == path and place.future_path is None:
            found[replica] = DONE
        else:
            found[replica] = MOVING if place is not None and place.future_path == path else ELSEWHERE
    return found


async def wait(cluster: ClusterRouter, wanted: LogDirs) -> None:
    progress = Progress()
    try:
        while moving := [each for each, state in (await states(cluster, wanted)).items() if state == MOVING]:
            progress.say(f"{plural(len(moving), 'replica')} of {len(wanted)} on the way to another directory")
            await asyncio.sleep(_LOOK_S)
    finally:
        progress.finish()


def _missing(outcomes: Outcomes[Replica, None], wanted: LogDirs) -> LogDirs:
    return {
        replica: wanted[replica]
        for replica, outcome in outcomes.items()
        if isinstance(outcome, Refused) and outcome.code == ErrorCode.REPLICA_NOT_AVAILABLE
    }
