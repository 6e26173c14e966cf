"""When flows of live mode are started again."""

from odradek.spark.pipeline.live.restarts import Restart, Restarts

PASSING = "odradek.errors.Unreachable: localhost:9092 does not answer"
LASTING = "odradek.errors.InputError: subscribe: there is no topic orderz"


def test_the_wait_doubles_with_each_failure_in_a_row() -> None:
    restarts = Restarts(retries=7)
    waits_s = [restart.wait_s for _ in range(7) if (restart := restarts.failed("orders", PASSING)) is not None]
    assert waits_s == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_retries_come_to_an_end() -> None:
    restarts = Restarts(retries=2)
    assert restarts.failed("orders", PASSING) == Restart(1, 1.0)
    assert restarts.failed("orders", PASSING) == Restart(2, 2.0)
    assert restarts.failed("orders", PASSING) is None


def test_a_batch_that_completes_ends_the_row() -> None:
    restarts = Restarts(retries=1)
    for _ in range(5):
        assert restarts.failed("orders", PASSING) == Restart(1, 1.0)
        restarts.completed_batch("orders")


def test_flows_are_counted_each_by_itself() -> None:
    restarts = Restarts(retries=1)
    assert restarts.failed("orders", PASSING) is not None
    assert restarts.failed("payments", PASSING) == Restart(1, 1.0)


def test_a_failure_that_cannot_pass_is_not_tried_again() -> None:
    assert Restarts(retries=5).failed("orders", LASTING) is None
