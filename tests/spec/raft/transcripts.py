"""Scenarios of the quorum as text: commands begin with `>`, everything else is what the nodes do.

A transcript runs its own commands and writes down what happens; the test compares that with the file. Fetches are left
out unless `> show fetches` asks for them: they are most of the traffic and say little.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from odradek.protocol.message import Message
from odradek.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from odradek.protocol.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from odradek.protocol.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import FetchResponse, SnapshotId
from odradek.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from odradek.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from odradek.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from odradek.protocol.messages.vote_request import VoteRequest
from odradek.protocol.messages.vote_response import VoteResponse
from odradek.raft.effects import Commit, Effect, Flush, LeaderChange, LoadSnapshot, Persist, Reply, Send, Stopped
from odradek.raft.events import Event, Request, RequestFailed, Response
from odradek.raft.raft import Raft
from odradek.raft.states.follower import Follower
from odradek.raft.states.state import State
from odradek.raft.values import OffsetAndEpoch
from odradek.records.batch import read_batches
from odradek.sim.raft.cluster import CONFIG, RaftCluster
from odradek.sim.raft.node import SimulatedNode
from odradek.sim.world.network import NetworkFaults


class UnknownCommand(AssertionError):
    """A line that no pattern of `COMMANDS` fits."""


class Transcript:
    """Runs the commands of one transcript."""

    def __init__(self, seed: str) -> None:
        self.lines: list[str] = []
        self.show_fetches = False
        self._seed = seed
        self._cluster: RaftCluster | None = None
        self._ends: dict[int, int] = {}

    @property
    def cluster(self) -> RaftCluster:
        assert self._cluster is not None, "a transcript begins with its voters"
        return self._cluster

    def run(self, commands: Sequence[str]) -> str:
        for command in commands:
            self.lines.append(f"> {command}")
            self._run_one(command)
        return "\n".join(self.lines) + "\n"

    def _run_one(self, command: str) -> None:
        for pattern, action in COMMANDS:
            match = re.fullmatch(pattern, command)
            if match is not None:
                action(self, *match.groups())
                return
        raise UnknownCommand(command)

    def reseed(self, seed: str) -> None:
        self._seed = seed

    def begin(self, ids: str, kind: str, observers: str | None) -> None:
        voters = numbers(ids)
        self._cluster = RaftCluster(
            self._seed,
            voters=len(voters),
            observers=len(numbers(observers or "")),
            first_id=voters[0],
            dynamic=kind == "dynamic",
            config=CONFIG,
            snapshot_interval=10_000,
            transcript=self,
        )
        self.cluster.network.faults = NetworkFaults(delay_min_ms=2, delay_mean_ms=1)

    def said(self, node: SimulatedNode, what: str) -> None:
        self._write(node, what)

    def stepped(self, node: SimulatedNode, before: State, event: Event, effects: list[Effect]) -> None:
        """Runs before the effects are carried out. A vote is answered after it is remembered."""
        heard, became, did = self._heard(node, event, effects), self._became(node, before), self._did(node, effects)
        is_vote = isinstance(event, Request) and isinstance(event.message, VoteRequest)
        for what in (*became, *did, *heard) if is_vote else (*heard, *became, *did):
            self._write(node, what)
        self._ends[node.id] = node.log.end_offset

    def _write(self, node: SimulatedNode, what: str) -> None:
        self.lines.append(f"{self.cluster.scheduler.now_ms / 1000:7.3f} {node.id}: {what}")

    def _heard(self, node: SimulatedNode, event: Event, effects: list[Effect]) -> Iterator[str]:
        if isinstance(event, Request):
            reply = next((e.message for e in effects if isinstance(e, Reply) and e.handle == event.handle), None)
            yield from self._request(node, event.message, reply)
        elif isinstance(event, Response):
            yield from self._response(node, event.message)
        elif isinstance(event, RequestFailed) and event.refused and isinstance(_raft(node).state, Follower):
            yield "finds that nobody listens there"

    def _request(self, node: SimulatedNode, message: Message, reply: Message | None) -> Iterator[str]:
        if isinstance(message, VoteRequest) and isinstance(reply, VoteResponse):
            asked, answer = message.topics[0].partitions[0], reply.topics[0].partitions[0]
            kind = "pre-vote" if asked.pre_vote else "vote"
            verb = "grants" if answer.vote_granted else "refuses"
            yield f"{verb} {asked.replica_id} its {kind} in epoch {asked.replica_epoch}"
        elif isinstance(message, BeginQuorumEpochRequest):
            partition = message.topics[0].partitions[0]
            yield f"hears that {partition.leader_id} leads epoch {partition.leader_epoch}"
        elif isinstance(message, EndQuorumEpochRequest):
            partition = message.topics[0].partitions[0]
            successors = ", ".join(str(info.candidate_id) for info in partition.preferred_candidates)
            yield f"hears that {partition.leader_id} gives up epoch {partition.leader_epoch}; successors {successors}"
        elif isinstance(message, AddRaftVoterRequest | RemoveRaftVoterRequest):
            verb = "add" if isinstance(message, AddRaftVoterRequest) else "remove"
            yield f"is asked to {verb} voter {message.voter_id}"
        elif isinstance(message, FetchRequest) and self.show_fetches:
            yield from self._fetch(message, reply)

    def _fetch(self, message: FetchRequest, reply: Message | None) -> Iterator[str]:
        asked = message.topics[0].partitions[0]
        what = f"gets a fetch of {message.replica_state.replica_id} from {asked.fetch_offset}"
        if isinstance(reply, FetchResponse):
            yield f"{what} and answers with {_content(reply)}"
        else:
            yield f"{what} and lets it wait"

    def _response(self, node: SimulatedNode, message: Message) -> Iterator[str]:
        raft = _raft(node)
        if isinstance(message, FetchResponse) and message.responses:
            partition = message.responses[0].partitions[0]
            if partition.diverging_epoch.epoch >= 0:
                yield f"truncates its log to {raft.log_end_offset}"
            elif partition.snapshot_id.epoch >= 0:
                yield f"is told to fetch the snapshot that ends at {_snapshot(partition.snapshot_id)}"
            elif partition.records and self.show_fetches:
                yield f"appends up to {raft.log_end_offset}"
        elif isinstance(message, FetchSnapshotResponse):
            piece = message.topics[0].partitions[0]
            end = piece.position + len(piece.unaligned_records)
            yield f"gets bytes {piece.position} to {end} of {piece.size} of that snapshot"

    def _became(self, node: SimulatedNode, before: State) -> Iterator[str]:
        state = _raft(node).state
        if state is before:
            return
        if (state.name, state.epoch, state.voted_key, state.leader_id) != (
            before.name,
            before.epoch,
            before.voted_key,
            before.leader_id,
        ):
            leader = f" of {state.leader_id}" if isinstance(state, Follower) else ""
            yield f"{state.name.lower()}{leader} in epoch {state.epoch}"

    def _did(self, node: SimulatedNode, effects: list[Effect]) -> Iterator[str]:
        asked: dict[str, list[str]] = {}
        for effect in effects:
            if isinstance(effect, Send):
                what = self._sent(effect.message)
                if what is not None:
                    asked.setdefault(what, []).append(effect.destination.host.removeprefix("node"))
                continue
            if isinstance(effect, Reply) and isinstance(effect.message, FetchResponse) and self.show_fetches:
                continue
            what = self._effect(node, effect)
            if what is not None:
                yield what
        for what, hosts in asked.items():
            yield f"asks {', '.join(hosts)} {what}"

    def _sent(self, message: Message) -> str | None:
        if isinstance(message, VoteRequest):
            return "for a pre-vote" if message.topics[0].partitions[0].pre_vote else "for a vote"
        if isinstance(message, FetchRequest):
            offset = message.topics[0].partitions[0].fetch_offset
            return f"for the log from {offset}" if self.show_fetches else None
        if isinstance(message, FetchSnapshotRequest):
            return f"for that snapshot from byte {message.topics[0].partitions[0].position}"
        return f"({type(message).__name__.removesuffix('Request')})"

    def _effect(self, node: SimulatedNode, effect: Effect) -> str | None:
        if isinstance(effect, Persist):
            voted = "" if effect.election.voted_key is None else f", its vote for {effect.election.voted_key.id}"
            return f"remembers epoch {effect.election.epoch}{voted}"
        if isinstance(effect, Flush):
            return f"has everything before {node.log.end_offset} on disk" if self._grew(node) else None
        if isinstance(effect, Commit):
            control = "" if any(not batch.is_control for batch in effect.batches) else " (control records)"
            return f"commits everything before {effect.batches[-1].last_offset + 1}{control}"
        if isinstance(effect, LoadSnapshot):
            return "loads the bootstrap snapshot" if effect.is_bootstrap else f"loads the snapshot at {effect.id}"
        if isinstance(effect, LeaderChange) and effect.leader.leader_id == node.id:
            return f"begins to decide in epoch {effect.leader.epoch}"
        if isinstance(effect, Stopped):
            return "hands over" if effect.handed_over else "gives up waiting"
        return None

    def _grew(self, node: SimulatedNode) -> bool:
        return self._ends.get(node.id, 0) != node.log.end_offset


def _raft(node: SimulatedNode) -> Raft:
    assert node.raft is not None
    return node.raft


def _content(response: FetchResponse) -> str:
    partition = response.responses[0].partitions[0]
    if partition.error_code:
        return f"error {partition.error_code}"
    if partition.records:
        batches = list(read_batches(partition.records))
        return f"{batches[0].base_offset} to {batches[-1].last_offset}, high watermark {partition.high_watermark}"
    if partition.snapshot_id.epoch >= 0:
        return f"the snapshot at {_snapshot(partition.snapshot_id)}"
    if partition.diverging_epoch.epoch >= 0:
        end = partition.diverging_epoch
        return f"the end of epoch {end.epoch} at {end.end_offset}"
    return f"the high watermark {partition.high_watermark}"


def _snapshot(snapshot_id: SnapshotId) -> OffsetAndEpoch:
    return OffsetAndEpoch(snapshot_id.epoch, snapshot_id.end_offset)


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def _after(transcript: Transcript, seconds: str) -> None:
    transcript.cluster.scheduler.run_for(int(float(seconds) * 1000))


def _start(transcript: Transcript, ids: str) -> None:
    for node_id in numbers(ids) or transcript.cluster.ids:
        transcript.cluster.start(node_id)


def _the_leader(transcript: Transcript) -> SimulatedNode:
    leader = transcript.cluster.leader()
    assert leader is not None
    return leader


def _cut_leader(transcript: Transcript) -> None:
    transcript.cluster.network.isolate(_the_leader(transcript).id, transcript.cluster.ids)


def _cut_follower(transcript: Transcript) -> None:
    follower = next(node_id for node_id in transcript.cluster.ids if node_id != _the_leader(transcript).id)
    transcript.cluster.network.isolate(follower, transcript.cluster.ids)


def _cut(transcript: Transcript, node: str, others: str) -> None:
    transcript.cluster.network.cut_groups([numbers(node), numbers(others)])


def _heal(transcript: Transcript) -> None:
    transcript.cluster.network.heal()


def _crash(transcript: Transcript, node: str) -> None:
    transcript.cluster.crash(int(node))


def _write_records(transcript: Transcript, count: str) -> None:
    _the_leader(transcript).increment(int(count))


def _shutdown(transcript: Transcript) -> None:
    _the_leader(transcript).shutdown(5_000)


def _add_voter(transcript: Transcript, node: str) -> None:
    _answered(transcript, lambda done: transcript.cluster.add_voter(int(node), done))


def _remove_voter(transcript: Transcript, node: str) -> None:
    leader = transcript.cluster.leader()
    assert leader is not None and leader.raft is not None
    voter = leader.raft.voters.get(int(node))
    assert voter is not None
    _answered(transcript, lambda done: transcript.cluster.remove_voter(voter, done))


def _answered(transcript: Transcript, ask: Callable[[Callable[[Message], None]], None]) -> None:
    def done(message: Message) -> None:
        code, text = message.error_code, message.error_message  # type: ignore[attr-defined]
        answer = "done" if code == 0 else f"error {code}: {text}"
        transcript.lines.append(f"{transcript.cluster.scheduler.now_ms / 1000:7.3f} the answer: {answer}")

    ask(done)


def _snapshot_at(transcript: Transcript, ids: str) -> None:
    for node_id in numbers(ids):
        node = transcript.cluster.nodes[node_id]
        raft = node.raft
        assert raft is not None
        counter = node.counter
        counter._snapshot(raft, OffsetAndEpoch(node.log.last_epoch, counter.next_offset), 0)
        assert raft.latest_snapshot_id is not None
        node.log.delete_before_snapshot(raft.latest_snapshot_id)
        transcript.said(node, f"writes a snapshot at {raft.latest_snapshot_id}; its log starts there")


def _small_pieces(transcript: Transcript, size: str) -> None:
    transcript.cluster.config = replace(transcript.cluster.config, fetch_snapshot_max_bytes=int(size))


def _show_fetches(transcript: Transcript) -> None:
    transcript.show_fetches = True


def _hide_fetches(transcript: Transcript) -> None:
    transcript.show_fetches = False


COMMANDS: list[tuple[str, Callable[..., None]]] = [
    (r"voters ([\d, ]+) \((static|dynamic)\)(?:, observers ([\d, ]+))?", Transcript.begin),
    (r"with the chances of seed (\d+)", Transcript.reseed),
    (r"start(?: (?:all|([\d, ]+)))?", lambda transcript, ids: _start(transcript, ids or "")),
    (r"after ([\d.]+) s", _after),
    (r"cut ([\d, ]+) from ([\d, ]+)", _cut),
    (r"heal", _heal),
    (r"crash (\d+)", _crash),
    (r"write (\d+) records?", _write_records),
    (r"shut the leader down", _shutdown),
    (r"cut the leader off", _cut_leader),
    (r"cut one of the followers off", _cut_follower),
    (r"add voter (\d+)", _add_voter),
    (r"remove voter (\d+)", _remove_voter),
    (r"snapshot at ([\d, ]+)", _snapshot_at),
    (r"snapshots travel in pieces of (\d+) bytes", _small_pieces),
    (r"show fetches", _show_fetches),
    (r"hide fetches", _hide_fetches),
]
