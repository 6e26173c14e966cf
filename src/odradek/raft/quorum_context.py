"""State that all roles of a replica read: the state, the log, the voters, the time of the step; and the outbox."""

from odradek.common.ports import Clock
from odradek.raft.config import LocalNode, QuorumConfig
from odradek.raft.contradictions import Contradictions
from odradek.raft.outbox import Outbox
from odradek.raft.states.state import State
from odradek.raft.states.transitions import Quorum
from odradek.raft.storage.control_record_history import ControlState
from odradek.raft.storage.raft_log import RaftLog, log_end
from odradek.raft.values import RECONFIGURABLE, OffsetAndEpoch
from odradek.raft.voters import VoterSet


class QuorumContext:
    """Holds no rules. `quorum` changes the state, `log` the log; only `Raft.step` moves the time."""

    def __init__(
        self,
        local: LocalNode,
        config: QuorumConfig,
        log: RaftLog,
        control: ControlState,
        quorum: Quorum,
        outbox: Outbox,
        clock: Clock,
        now_ms: int,
    ) -> None:
        """`clock` only stamps records and responses."""
        self.local = local
        self.config = config
        self.log = log
        self.control = control
        self.quorum = quorum
        self.outbox = outbox
        self.contradictions = Contradictions()
        self._clock = clock
        #: Time of the step on the monotonic clock.
        self.now_ms = now_ms

    def advance_to(self, now_ms: int) -> None:
        """Start a step at `now_ms`."""
        self.now_ms = now_ms

    @property
    def state(self) -> State:
        return self.quorum.state

    @property
    def epoch(self) -> int:
        return self.quorum.state.epoch

    @property
    def log_end(self) -> OffsetAndEpoch:
        return log_end(self.log)

    @property
    def voters(self) -> VoterSet:
        """The last voters in the log, committed or not; the static voters if the log has none."""
        return self.control.voters

    @property
    def wall_ms(self) -> int:
        return self._clock.wall_ms()

    @property
    def is_reconfigurable(self) -> bool:
        """Return whether the voters are in the log and may change."""
        return self.control.kraft_version >= RECONFIGURABLE
