from odradek.coordinator.runtime.deadlines import Deadlines


def test_they_come_in_the_order_of_their_times_and_then_of_their_making() -> None:
    deadlines, came = Deadlines(), list[str]()
    for name, at_ms in (("b", 20), ("a", 10), ("c", 20), ("late", 30)):
        deadlines.add(at_ms, lambda name=name: came.append(name))  # type: ignore[misc]
    deadlines.run(20)
    assert came == ["a", "b", "c"]
    assert deadlines.next_ms == 30


def test_one_that_is_due_at_once_comes_with_the_next_run() -> None:
    deadlines, came = Deadlines(), list[str]()

    def first() -> None:
        came.append("first")
        deadlines.add(10, lambda: came.append("again"))

    deadlines.add(10, first)
    deadlines.run(10)
    assert came == ["first"]
    deadlines.run(10)
    assert came == ["first", "again"]


def test_those_that_are_cancelled_do_not_pile_up() -> None:
    deadlines = Deadlines()
    kept = deadlines.add(5, lambda: None)
    for number in range(10_000):
        deadlines.cancel(deadlines.add(100 + number, lambda: None))
    assert len(deadlines._heap) < 100
    deadlines.cancel(kept)
    deadlines.cancel(kept)
    assert len(deadlines) == 0
    assert deadlines.next_ms is None


def test_whoever_waits_is_told_of_an_earlier_one_only() -> None:
    deadlines, told = Deadlines(), list[int | None]()
    deadlines.on_nearer = lambda: told.append(deadlines.next_ms)
    for at_ms in (50, 60, 40):
        deadlines.add(at_ms, lambda: None)
    assert told == [50, 40]
