"""How the driver shares the transactions of a batch out among its lanes."""

import threading
from typing import Any

import pytest

from odradek.client.direct.transactions import DescribedTransaction
from odradek.client.producer.producer_identity import ProducerIdentity
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode
from odradek.spark.exactly_once.coordinator import SinkCoordinator
from odradek.spark.exactly_once.decisions import PreparedTransaction
from odradek.spark.exactly_once.protocol import Fate

_LANES = 3
_PREPARED = [PreparedTransaction(f"t-{number}", number, 0) for number in range(_LANES * 2)]


class FakeLane:
    """Begins when all lanes have something to do, and refuses one transaction."""

    def __init__(self, barrier: threading.Barrier, refused: str = "") -> None:
        self.barrier = barrier
        self.refused = refused
        self.ended: list[str] = []
        self.threads: list[int] = []

    def end(self, transactional_id: str, identity: ProducerIdentity, *, is_commit: bool) -> None:
        self._take_up()
        assert is_commit
        if transactional_id == self.refused:
            raise Refused(transactional_id, ErrorCode.PRODUCER_FENCED)
        self.ended.append(transactional_id)

    def describe(self, transactional_id: str) -> DescribedTransaction:
        self._take_up()
        number = int(transactional_id.removeprefix("t-"))
        return DescribedTransaction(ProducerIdentity(number, 0), "CompleteCommit" if number % 2 else "Ongoing")

    def _take_up(self) -> None:
        if not self.threads:
            self.barrier.wait(60)
        self.threads.append(threading.get_ident())


def _lanes(refused: str = "") -> list[Any]:
    barrier = threading.Barrier(_LANES)
    return [FakeLane(barrier, refused) for _ in range(_LANES)]


def test_lanes_work_at_once_and_each_in_one_thread() -> None:
    lanes = _lanes()
    SinkCoordinator(lanes).commit(_PREPARED)
    assert sorted(each for lane in lanes for each in lane.ended) == [each.transactional_id for each in _PREPARED]
    assert [len(set(lane.threads)) for lane in lanes] == [1] * _LANES


def test_fates_are_told_by_transaction() -> None:
    found = SinkCoordinator(_lanes()).fates(_PREPARED)
    assert [found[each] for each in _PREPARED] == [Fate.OPEN, Fate.COMMITTED] * _LANES
    assert SinkCoordinator(_lanes()).fates([]) == {}


def test_one_that_is_refused_does_not_keep_the_other_lanes_from_their_work() -> None:
    lanes = _lanes(refused="t-1")
    with pytest.raises(Refused, match="t-1"):
        SinkCoordinator(lanes).commit(_PREPARED)
    assert [lane.ended for lane in lanes] == [["t-0", "t-3"], [], ["t-2", "t-5"]]
