"""A simulated quorum: nodes, the network between them, a workload, and the checks after every event.

Everything that happens follows from the seed. Messages travel as the objects they are; with `through_codec` every one
is encoded and decoded on its way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Protocol

from odradek.protocol.codec import decode, encode
from odradek.protocol.message import Message
from odradek.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from odradek.protocol.messages.add_raft_voter_request import Listener as AddListener
from odradek.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from odradek.raft.config import LocalNode, QuorumConfig
from odradek.raft.effects import Effect, Send
from odradek.raft.events import Event, Request, RequestFailed, Response
from odradek.raft.raft import Raft
from odradek.raft.states.state import State
from odradek.raft.storage.control_record_history import ControlState
from odradek.raft.storage.snapshots import SnapshotWriter
from odradek.raft.values import BOOTSTRAP_SNAPSHOT_ID, Destination, Endpoint, Endpoints, VersionRange
from odradek.raft.voters import NO_VOTERS, Voter, VoterSet
from odradek.sim.raft.ledger import Ledger
from odradek.sim.raft.node import Handle, SimulatedNode
from odradek.sim.world.network import Network
from odradek.sim.world.scheduler import Scheduler

LISTENER = "CONTROLLER"
PORT = 9093
CLUSTER_ID = "simulated-cluster"

#: Quicker than Kafka's defaults where only simulated time would pass, slower where messages would only repeat.
CONFIG = QuorumConfig(append_linger_ms=0, fetch_max_wait_ms=300, retry_backoff_ms=100, clean_interval_ms=2_000)


class Transcript(Protocol):
    """Writes down what happens, for people."""

    def said(self, node: SimulatedNode, what: str) -> None: ...

    def stepped(self, node: SimulatedNode, before: State, event: Event, effects: list[Effect]) -> None: ...


class RaftCluster:
    def __init__(
        self,
        seed: int | str,
        *,
        voters: int,
        observers: int = 0,
        dynamic: bool = False,
        config: QuorumConfig = CONFIG,
        through_codec: bool = False,
        snapshot_interval: int = 40,
        first_id: int = 0,
        raft_class: type[Raft] = Raft,
        node_class: type[SimulatedNode] = SimulatedNode,
        transcript: Transcript | None = None,
    ) -> None:
        """Voters have the first ids. `dynamic`: voters and directory ids are in the log (KIP-853)."""
        self.random = Random(seed)
        self.scheduler = Scheduler()
        self.network = Network(self.scheduler, self.random)
        self.ledger = Ledger()
        self.config = config
        self.dynamic = dynamic
        self.snapshot_interval = snapshot_interval
        self.raft_class = raft_class
        self.transcript = transcript
        self._through_codec = through_codec
        ids = range(first_id, first_id + voters + observers)
        self.nodes: dict[int, SimulatedNode] = {
            node_id: node_class(self, node_id, self.new_directory_id(), self.random) for node_id in ids
        }
        self.voter_ids = list(ids)[:voters]
        self.on_crash: Callable[[SimulatedNode], None] = lambda node: None
        self.on_vote: Callable[[SimulatedNode], None] = lambda node: None
        self._addresses = {f"node{node_id}": node_id for node_id in ids}
        if dynamic:
            self._write_bootstrap_snapshots()

    @property
    def ids(self) -> list[int]:
        return list(self.nodes)

    @property
    def running(self) -> list[SimulatedNode]:
        return [node for node in self.nodes.values() if node.is_running]

    def new_directory_id(self) -> bytes:
        return self.random.randbytes(16)

    def voter_set(self) -> VoterSet:
        return VoterSet(
            Voter(self.nodes[node_id].key, endpoints(node_id), VersionRange(0, 1)) for node_id in self.voter_ids
        )

    def _write_bootstrap_snapshots(self) -> None:
        for node_id in self.voter_ids:
            raw = self.nodes[node_id].log.create_snapshot(BOOTSTRAP_SNAPSHOT_ID)
            assert raw is not None
            writer = SnapshotWriter(
                raw, last_contained_log_timestamp=0, kraft_version=1, voters=self.voter_set(), wall_ms=0
            )
            writer.freeze()

    def static_voters(self) -> VoterSet:
        addresses = {voter_id: (f"node{voter_id}", PORT) for voter_id in self.voter_ids}
        return NO_VOTERS if self.dynamic else VoterSet.static(addresses, LISTENER)

    def start(self, node_id: int) -> None:
        node = self.nodes[node_id]
        if node.is_running:
            return
        bootstrap = tuple(
            Destination(-2 - index if self.dynamic else voter_id, f"node{voter_id}", PORT)
            for index, voter_id in enumerate(self.voter_ids)
        )
        local = LocalNode(
            cluster_id=CLUSTER_ID,
            id=node_id,
            directory_id=node.directory_id,
            listener=LISTENER,
            endpoints=endpoints(node_id),
            static_voters=self.static_voters(),
            bootstrap_servers=bootstrap,
        )
        node.start(local, self.config)

    def start_all(self) -> None:
        for node_id in self.nodes:
            self.start(node_id)

    def crash(self, node_id: int) -> None:
        self.nodes[node_id].crash()

    def crashed(self, node: SimulatedNode) -> None:
        """It stopped between two effects, as it was told to."""
        self.on_crash(node)

    def request(self, source: SimulatedNode, send: Send) -> None:
        target_id = self._addresses.get(send.destination.host)
        if target_id is None:
            source.handle(RequestFailed(send.correlation_id))
            return
        handle = Handle(source.id, source.incarnation, send.correlation_id)
        message = self._carried(send.message)
        self.network.send(source.id, target_id, partial(self._deliver_request, target_id, handle, message))

    def _deliver_request(self, target_id: int, handle: Handle, message: Message) -> None:
        target = self.nodes[target_id]
        if target.is_running:
            target.handle(Request(handle, message, type(message).VERSIONS[1], LISTENER))
        elif self.random.random() < self.network.faults.refusal:
            failure = RequestFailed(handle.correlation_id, refused=True)
            self.network.send(target_id, handle.node_id, partial(self._deliver_event, handle, failure))

    def respond(self, source: SimulatedNode, handle: Handle, message: Message) -> None:
        response = Response(handle.correlation_id, self._carried(message))
        self.network.send(source.id, handle.node_id, partial(self._deliver_event, handle, response))

    def _deliver_event(self, handle: Handle, event: Event) -> None:
        """Drop responses to a process that has ended."""
        node = self.nodes[handle.node_id]
        if node.incarnation == handle.incarnation:
            node.handle(event)

    def _carried(self, message: Message) -> Message:
        if not self._through_codec:
            return message
        version = type(message).VERSIONS[1]
        return decode(type(message), version, encode(message, version))

    def ask(self, node_id: int, message: Message, on_reply: Callable[[Message], None]) -> None:
        """A request of the simulation's own, as from a tool."""
        node = self.nodes[node_id]
        handle = Handle(node_id, node.incarnation, 0, on_reply)
        node.handle(Request(handle, message, type(message).VERSIONS[1], LISTENER))

    def add_voter(self, node_id: int, on_reply: Callable[[Message], None] = lambda message: None) -> None:
        leader = self.leader()
        if leader is not None:
            node = self.nodes[node_id]
            listeners = [AddListener(name=LISTENER, host=f"node{node_id}", port=PORT)]
            message = AddRaftVoterRequest(
                cluster_id=CLUSTER_ID, voter_id=node_id, voter_directory_id=node.directory_id, listeners=listeners
            )
            self.ask(leader.id, message, on_reply)

    def remove_voter(self, voter: Voter, on_reply: Callable[[Message], None] = lambda message: None) -> None:
        leader = self.leader()
        if leader is not None:
            message = RemoveRaftVoterRequest(
                cluster_id=CLUSTER_ID, voter_id=voter.key.id, voter_directory_id=voter.key.wire_directory_id
            )
            self.ask(leader.id, message, on_reply)

    def write(self, count: int = 1) -> None:
        """Write at every node that considers itself the leader; only one of them can commit."""
        for node in self.running:
            node.increment(count)

    def write_every(self, least_ms: int, most_ms: int) -> None:
        self.scheduler.every(lambda: self.random.randint(least_ms, most_ms), self.write)

    def leader(self) -> SimulatedNode | None:
        """Return the leader of the latest epoch that has one."""
        leaders = [node for node in self.running if node.raft is not None and node.raft.is_leader]
        return max(leaders, key=lambda node: node.raft.state.epoch if node.raft else 0, default=None)

    def leader_of(self, ids: list[int]) -> SimulatedNode | None:
        """Whom all of these follow."""
        leader = self.leader()
        if leader is None or leader.raft is None:
            return None
        followed = leader.raft.leader_and_epoch
        return leader if all(self._believes(node_id, followed) for node_id in ids) else None

    def _believes(self, node_id: int, leader: object) -> bool:
        raft = self.nodes[node_id].raft
        return raft is not None and raft.leader_and_epoch == leader

    def all_reached(self, offset: int, ids: list[int] | None = None) -> bool:
        nodes = self.running if ids is None else [self.nodes[node_id] for node_id in ids]
        return all(node.high_watermark >= offset for node in nodes)

    def any_reached(self, offset: int) -> bool:
        return any(node.high_watermark >= offset for node in self.running)

    def max_high_watermark(self, ids: list[int] | None = None) -> int:
        return max((self.nodes[node_id].high_watermark for node_id in ids or self.nodes), default=0)

    def max_log_end(self) -> int:
        return max(node.log.end_offset for node in self.nodes.values())

    def max_log_end_of(self, ids: list[int]) -> int:
        return max(self.nodes[node_id].log.end_offset for node_id in ids)

    def voters_in_log(self, node: SimulatedNode) -> VoterSet:
        """Whoever this node thinks votes, running or not."""
        return ControlState(node.log, self.static_voters()).voters

    def say(self, node: SimulatedNode, what: str) -> None:
        self.scheduler.trace(f"{self.scheduler.now_ms} {node.id} {what}")
        if self.transcript is not None:
            self.transcript.said(node, what)

    def after_event(self, node: SimulatedNode) -> None:
        self.ledger.check(node)
        raft = node.raft
        if raft is not None:
            state = raft.state
            self.scheduler.trace(
                f"{self.scheduler.now_ms} {node.id} {state.name} {state.epoch} {state.leader_id} "
                f"{state.high_watermark} {node.log.end_offset} {node.counter.committed}"
            )

    def finish(self) -> None:
        self.ledger.check_end(list(self.nodes.values()))

    def with_config(self, *, election_timeout_ms: int, fetch_timeout_ms: int) -> None:
        self.config = replace(self.config, election_timeout_ms=election_timeout_ms, fetch_timeout_ms=fetch_timeout_ms)


def endpoints(node_id: int) -> Endpoints:
    return Endpoints((Endpoint(LISTENER, f"node{node_id}", PORT),))
