"""Ordered concurrency."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.service.ordered_lanes import Lanes


def test_a_lane_runs_one_at_a_time_and_others_beside_it() -> None:
    lanes: Lanes[str] = Lanes(concurrency=2)
    for lane, job in (("a", "a1"), ("a", "a2"), ("b", "b1"), ("c", "c1")):
        lanes.add(lane, job)
    assert [lanes.take(), lanes.take(), lanes.take()] == [("a", "a1"), ("b", "b1"), None]
    lanes.done("b")
    assert lanes.take() == ("c", "c1")
    lanes.done("a")
    assert lanes.take() == ("a", "a2")
    assert (lanes.running, lanes.queued) == (2, 0)


@settings(max_examples=50)
@given(st.lists(st.integers(0, 4), max_size=40), st.integers(1, 4), st.randoms(use_true_random=False))
def test_every_job_runs_once_in_the_order_of_its_lane(
    lanes_of_jobs: list[int], concurrency: int, randomness: Random
) -> None:
    lanes: Lanes[tuple[int, int]] = Lanes(concurrency)
    running: list[int] = []
    ran: list[tuple[int, int]] = []
    waiting = list(enumerate(lanes_of_jobs))
    while waiting or running or lanes.queued:
        if waiting and randomness.random() < 0.5:
            number, lane = waiting.pop(0)
            lanes.add(lane, (lane, number))
        while (taken := lanes.take()) is not None:
            assert taken[0] not in running
            running.append(taken[1][0])
            ran.append(taken[1])
        assert len(running) <= concurrency
        if running and randomness.random() < 0.7:
            lanes.done(running.pop(randomness.randrange(len(running))))
    assert sorted(number for _, number in ran) == list(range(len(lanes_of_jobs)))
    for lane in set(lanes_of_jobs):
        numbers = [number for each, number in ran if each == lane]
        assert numbers == sorted(numbers)
