"""Log directories that a reassignment plan names for replicas.

A replica that its broker already has moves on its own. A replica that the reassignment adds is created in the directory
if its broker knows it in time. So brokers are told the directories before the reassignment starts, and again until the
replica exists.
"""

import asyncio
from collections.abc import Mapping

from odradek.cli.base.output import Progress, plural
from odradek.client.admin.log_dirs import LogDirOperations, Replica
from odradek.client.admin.outcomes import Outcomes
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode

#: Same limit as in Kafka's tool: brokers create the replicas of a reassignment within it.
_CREATION_TIMEOUT_S = 10
_POLL_INTERVAL_S = 0.5

DONE, MOVING, ELSEWHERE = "done", "moving", "elsewhere"


class LogDirMoves:
    """Moves the replicas of a plan to their log directories."""

    def __init__(self, log_dirs: LogDirOperations, paths: Mapping[Replica, str]) -> None:
        self._log_dirs = log_dirs
        self._paths = paths

    async def announce(self) -> None:
        """Tell brokers the directories, before the reassignment. Errors are returned by `start`."""
        await self._log_dirs.alter_replicas(self._paths)

    async def start(self) -> Outcomes[Replica, None]:
        """Start the moves. A replica that does not exist yet is retried for a while."""
        outcomes = await self._log_dirs.alter_replicas(self._paths)
        deadline_s = asyncio.get_running_loop().time() + _CREATION_TIMEOUT_S
        while (paths := self._paths_of_missing(outcomes)) and asyncio.get_running_loop().time() < deadline_s:
            await asyncio.sleep(_POLL_INTERVAL_S)
            outcomes = Outcomes({**outcomes, **await self._log_dirs.alter_replicas(paths)})
        return outcomes

    async def states(self) -> dict[Replica, str]:
        return await self._states(self._paths)

    async def _states(self, paths: Mapping[Replica, str]) -> dict[Replica, str]:
        log_dirs = await self._log_dirs.describe_replicas(paths)
        states = {}
        for replica, path in paths.items():
            log_dir = log_dirs.get(replica)
            if log_dir is not None and log_dir.path == path and log_dir.future_path is None:
                states[replica] = DONE
            else:
                states[replica] = MOVING if log_dir is not None and log_dir.future_path == path else ELSEWHERE
        return states

    async def wait(self, started: Outcomes[Replica, None]) -> None:
        """Wait until the moves that `start` has started are complete."""
        accepted = {replica: self._paths[replica] for replica in started.succeeded()}
        progress = Progress()
        try:
            while moving := [replica for replica, state in (await self._states(accepted)).items() if state == MOVING]:
                progress.say(f"{plural(len(moving), 'replica')} of {len(accepted)} moving to another directory")
                await asyncio.sleep(_POLL_INTERVAL_S)
        finally:
            progress.finish()

    def _paths_of_missing(self, outcomes: Outcomes[Replica, None]) -> dict[Replica, str]:
        return {
            replica: self._paths[replica]
            for replica, outcome in outcomes.items()
            if isinstance(outcome, Refused) and outcome.code == ErrorCode.REPLICA_NOT_AVAILABLE
        }
