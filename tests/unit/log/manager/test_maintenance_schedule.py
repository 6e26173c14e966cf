"""Jobs are due when their time has come, once, in the order in which it came."""

import pytest

from odradek.common.failures import Fault
from odradek.log.manager.maintenance_schedule import NEVER_MS, Job, Schedule


def job(name: str, interval_ms: int) -> Job:
    return Job(name, interval_ms, run=lambda: None)


def names(jobs: list[Job]) -> list[str]:
    return [job.name for job in jobs]


def test_a_transcript_of_three_jobs() -> None:
    schedule = Schedule()
    schedule.add(job("retention", 300), first_due_ms=30)
    schedule.add(job("checkpoint", 60), first_due_ms=30)
    schedule.add(job("flush", NEVER_MS), first_due_ms=30)

    assert schedule.next_due_ms() == 30
    assert names(schedule.due(29)) == []
    assert names(schedule.due(30)) == ["checkpoint", "retention"]
    assert names(schedule.due(30)) == []
    assert schedule.next_due_ms() == 90
    assert names(schedule.due(95)) == ["checkpoint"]
    assert schedule.next_due_ms() == 155  # counted from when it ran


def test_a_job_that_was_missed_many_times_is_due_once() -> None:
    schedule = Schedule()
    schedule.add(job("checkpoint", 60), first_due_ms=60)
    assert names(schedule.due(60_000)) == ["checkpoint"]
    assert schedule.next_due_ms() == 60_060


def test_the_longest_overdue_comes_first() -> None:
    schedule = Schedule()
    schedule.add(job("a", 10), first_due_ms=20)
    schedule.add(job("b", 10), first_due_ms=10)
    assert names(schedule.due(30)) == ["b", "a"]


def test_a_job_can_be_moved_replaced_and_removed() -> None:
    schedule = Schedule()
    schedule.add(job("clean", 15), first_due_ms=15)
    schedule.reschedule("clean", 5)
    assert names(schedule.due(5)) == ["clean"]
    schedule.add(job("clean", NEVER_MS), first_due_ms=0)
    assert schedule.next_due_ms() is None
    assert names(list(schedule)) == ["clean"]
    schedule.remove("clean")
    schedule.reschedule("clean", 0)
    assert schedule.due(10**9) == []


def test_an_interval_of_nothing_is_refused() -> None:
    with pytest.raises(Fault):
        Schedule().add(job("busy", 0), first_due_ms=0)
