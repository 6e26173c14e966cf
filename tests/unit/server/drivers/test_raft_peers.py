"""What the log says about peers that do not answer."""

import logging

import pytest

from odradek.errors import Disconnected
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_response import FetchResponse
from odradek.raft.values import Destination
from odradek.server.drivers.raft_peers import Peers

_VOTER = Destination(2, "there", 9093)
_BOOTSTRAP = Destination(-2, "there", 9094)


def test_a_peer_that_is_gone_is_told_once_and_once_when_it_is_back(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "odradek.raft")
    peers = Peers()
    for _ in range(3):
        peers.failed(_VOTER, Disconnected("there:9093: connection refused", refused=True))
    for _ in range(3):
        peers.answered(_VOTER, FetchResponse())
    assert caplog.messages == [
        "node 2 at there:9093 does not answer: connection refused; trying on",
        "node 2 at there:9093 answers again",
    ]


def test_a_peer_of_another_cluster_is_warned_about_once(caplog: pytest.LogCaptureFixture) -> None:
    peers = Peers()
    for _ in range(3):
        peers.answered(_BOOTSTRAP, FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID))
    assert caplog.messages == ["there:9094 belongs to another cluster: INCONSISTENT_CLUSTER_ID; trying on"]


def test_troubles_are_those_of_now() -> None:
    peers = Peers()
    peers.failed(_VOTER, Disconnected("there:9093: connection refused", refused=True))
    peers.answered(_BOOTSTRAP, FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID))
    assert peers.troubles() == [
        "there:9093 does not answer: connection refused",
        "there:9094 belongs to another cluster",
    ]
    for peer in (_VOTER, _BOOTSTRAP):
        peers.answered(peer, FetchResponse())
    assert peers.troubles() == []
