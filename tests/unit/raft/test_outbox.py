"""The outbox: the order of the effects, and when a request is sent."""

from random import Random

from odradek.protocol.messages.vote_request import VoteRequest
from odradek.protocol.messages.vote_response import VoteResponse
from odradek.raft.effects import Flush, LeaderChange, Persist, Reply, Send
from odradek.raft.outbox import Outbox
from odradek.raft.request_manager import RequestManager
from odradek.raft.storage.quorum_state_file import ElectionState
from odradek.raft.values import Destination, LeaderAndEpoch

PEER = Destination(2, "node2", 9093)
FIRST, SECOND = Persist(ElectionState(1), 0), Persist(ElectionState(2), 0)


def new_outbox() -> Outbox:
    return Outbox(RequestManager(20, 2_000, Random(1)))


def test_effects_are_taken_once_and_in_order() -> None:
    outbox = new_outbox()
    response = VoteResponse()
    outbox.emit(Flush())
    outbox.reply("handle", response)
    assert outbox.take() == [Flush(), Reply("handle", response)]
    assert outbox.take() == []


def test_only_the_last_of_two_states_is_written_if_nothing_left_the_node_between_them() -> None:
    outbox = new_outbox()
    change = LeaderChange(LeaderAndEpoch(None, 1))
    for effect in (FIRST, change, SECOND):
        outbox.emit(effect)
    assert outbox.take() == [change, SECOND]


def test_both_states_are_written_if_a_reply_depends_on_the_first() -> None:
    outbox = new_outbox()
    outbox.emit(FIRST)
    outbox.reply("handle", VoteResponse())
    outbox.emit(SECOND)
    assert [effect for effect in outbox.take() if isinstance(effect, Persist)] == [FIRST, SECOND]


def test_a_request_is_sent_only_if_none_is_in_flight() -> None:
    outbox = new_outbox()
    assert outbox.send(PEER, VoteRequest, 100) == (True, 2_100)
    assert outbox.send(PEER, VoteRequest, 200) == (False, 2_100)
    (send,) = outbox.take()
    assert isinstance(send, Send) and send.destination == PEER
    assert outbox.send(PEER, VoteRequest, 2_100) == (True, 4_100), "the first one has timed out"
