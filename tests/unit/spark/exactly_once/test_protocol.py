"""A driver that dies at any step of the protocol, and the next one: nothing is lost, nothing is there twice."""

import pytest

from odradek.common.failures import ApiError
from odradek.errors import BatchLost, BatchTorn, Superseded
from odradek.spark.exactly_once.decisions import Decision, PreparedTransaction, SinkState, from_json, to_json
from odradek.spark.exactly_once.protocol import transactional_id
from unit.spark.fake_sinks import Crash, Job, State, World, driver


def _steps_of_a_run() -> int:
    world = World()
    Job(world).run()
    return world.steps


STEPS = _steps_of_a_run()


def _crash_at(step: int):
    def crash(number: int) -> None:
        if number == step:
            raise Crash

    return crash


def _run_until_done(world: World, *, drivers: int = 5) -> Job:
    job = Job(world)
    for _ in range(drivers):
        try:
            job.run()
            return job
        except Crash:
            continue
    raise AssertionError("the job never ended")


def test_batches_are_committed_once_and_nothing_is_left_open() -> None:
    world = World()
    job = _run_until_done(world)
    assert world.visible() == job.expected()
    assert world.open_ids() == []
    assert STEPS > 50  # or the tests below would crash nowhere


@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_a_driver_that_dies_at_any_step_and_the_next_one_too(step: int) -> None:
    for later in range(step + 1, step + STEPS, 5):
        world = World()
        world.on_step = lambda number, later=later: (_crash_at(step)(number), _crash_at(later)(number))
        job = _run_until_done(world)
        assert world.visible() == job.expected(), f"crashed at {step} and {later}"
        assert world.open_ids() == [], f"crashed at {step} and {later}"


@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_a_second_driver_that_takes_over_at_any_step(step: int) -> None:
    """The first one goes on afterwards, not knowing of the second."""
    world = World()

    def take_over(number: int) -> None:
        if number == step:
            world.on_step = lambda _: None
            Job(world, attempts=1000).run()

    world.on_step = take_over
    first = Job(world)
    try:
        first.run()
    except (Superseded, BatchLost):
        Job(world, attempts=2000).run()  # it is started again
    assert world.visible() == first.expected()
    assert world.open_ids() == []


@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_transactions_whose_time_is_up_at_any_step_are_never_half_a_batch_in_silence(step: int) -> None:
    """The driver dies, and comes back when the broker has aborted all that was open."""
    world = World()
    world.on_step = _crash_at(step)
    job = Job(world)
    with pytest.raises(Crash):
        job.run()
    world.time_out()
    world.on_step = lambda _: None
    if _is_torn(world):
        with pytest.raises(BatchTorn, match="of query query was decided"):
            job.run()
    else:
        job.run()
        assert world.visible() == job.expected()


def _is_torn(world: World) -> bool:
    """Whether one of two transactions of a decision is committed."""
    undone = (each for decision in from_json(world.stored).unfinished for each in decision.transactions)
    return {world.transactions[each.transactional_id].state for each in undone} == {State.COMMITTED, State.ABORTED}


def _decided(world: World) -> list[PreparedTransaction]:
    """Two transactions, of a driver that died when it had decided to commit them."""
    protocol, job = driver(world), Job(world, batches=1)
    run = protocol.begin_run()
    prepared = [job.write(run, 0, partition) for partition in range(2)]

    def crash(_: int) -> None:
        if from_json(world.stored).unfinished:
            raise Crash

    world.on_step = crash
    with pytest.raises(Crash):
        protocol.commit(run, "query", 0, prepared, 4)
    world.on_step = lambda _: None
    return prepared


def test_what_was_decided_is_visible_before_the_next_tasks_begin() -> None:
    world = World()
    _decided(world)
    assert not world.visible()
    driver(world).begin_run()
    assert world.visible() == Job(world, batches=1).expected()


def test_a_decision_is_revoked_when_the_time_of_one_transaction_was_up_and_none_is_committed() -> None:
    world = World()
    first = world.transactions[_decided(world)[0].transactional_id]
    first.state, first.epoch = State.ABORTED, 1
    job = Job(world, batches=1, attempts=10)
    job.run()
    assert world.visible() == job.expected()


def test_but_not_when_the_driver_that_decided_lives_and_is_quicker() -> None:
    """It commits the other one after it was seen to be open."""
    world = World()
    first, second = (world.transactions[each.transactional_id] for each in _decided(world))
    first.state, first.epoch = State.ABORTED, 1
    begun = world.steps

    def commit_second(step: int) -> None:
        if step == begun + 5:  # the store is opened, both fates are asked, the first is aborted
            second.state = State.COMMITTED

    world.on_step = commit_second
    with pytest.raises(BatchTorn):
        driver(world).begin_run()


def test_nothing_is_committed_if_the_time_of_the_first_was_up_since_the_decision() -> None:
    world = World()
    protocol, job = driver(world), Job(world, batches=1)
    run = protocol.begin_run()
    first, second = prepared = [job.write(run, 0, partition) for partition in range(2)]

    def abort_first(_: int) -> None:
        if from_json(world.stored).unfinished:
            found = world.transactions[first.transactional_id]
            found.state, found.epoch = State.ABORTED, 1

    world.on_step = abort_first
    with pytest.raises(ApiError):
        protocol.commit(run, "query", 0, prepared, 4)
    assert world.transactions[second.transactional_id].state is State.ONGOING
    world.on_step = lambda _: None
    Job(world, batches=1, attempts=10).run()
    assert world.visible() == job.expected()


def test_a_failed_commit_is_not_aborted_once_it_is_decided() -> None:
    """Spark calls abort after a commit that raised."""
    for step in range(1, STEPS + 1):
        world = World()
        protocol, job = driver(world), Job(world, batches=1)
        run = protocol.begin_run()
        prepared = [job.write(run, 0, partition) for partition in range(2)]
        world.on_step, world.steps = _crash_at(step), 0
        try:
            protocol.commit(run, "query", 0, prepared, 4)
            world.logged = 0
        except Crash:
            world.on_step = lambda _: None
            driver(world).abort(run, prepared)
        Job(world, batches=1, attempts=10).run()
        assert world.visible() == job.expected()
        assert world.open_ids() == []


def test_a_batch_older_than_the_last_is_refused() -> None:
    world = World()
    Job(world).run()
    protocol = driver(world)
    run = protocol.begin_run()
    with pytest.raises(BatchLost, match="rolled back"):
        protocol.commit(run, "query", 1, [world.prepare(transactional_id("sink", run, 0, 9), ["x"])], 1)


def test_a_new_checkpoint_begins_at_batch_0_and_the_old_one_is_known_still() -> None:
    world = World()
    Job(world, batches=1).run()
    world.logged = -1
    Job(world, batches=1, query_id="another").run()
    assert set(world.visible().values()) == {2}
    world.logged = -1
    Job(world, batches=1).run()  # the first batch of the first query, replayed
    assert set(world.visible().values()) == {2}


def test_a_batch_without_rows_decides_nothing() -> None:
    world = World()
    protocol = driver(world)
    protocol.commit(protocol.begin_run(), "query", 7, [], 0)
    assert from_json(world.stored) == SinkState(run=1)


def test_sinks_whose_names_begin_alike_leave_each_other_alone() -> None:
    world = World()
    world.prepare(transactional_id("sink-1", 0, 5, 7), ["theirs"])
    world.prepare("sink-decisions", ["theirs"])
    mine = transactional_id("sink", 0, 5, 7)
    world.prepare(mine, ["mine"])
    driver(world).begin_run()
    assert world.transactions[mine].state is State.ABORTED
    assert world.open_ids() == ["sink-1-0-5-7", "sink-decisions"]


def test_a_superseded_driver_leaves_the_newer_one_alone() -> None:
    world = World()
    old, new = driver(world), driver(world)
    old_run = old.begin_run()
    new_run = new.begin_run()
    prepared = world.prepare(transactional_id("sink", new_run, 0, 1), ["new"])
    mine = world.prepare(transactional_id("sink", old_run, 0, 1), ["old"])
    with pytest.raises(Superseded, match="run 1 tried to commit, but run 2 has begun"):
        old.commit(old_run, "query", 0, [mine], 1)
    old.abort(old_run, [mine])
    new.commit(new_run, "query", 0, [prepared], 1)
    assert world.visible() == {"new": 1}


def test_a_store_that_was_deleted_since_the_run_began_is_not_taken_for_another_driver() -> None:
    world = World()
    protocol = driver(world)
    run = protocol.begin_run()
    prepared = world.prepare(transactional_id("sink", run, 0, 1), ["row"])
    world.stored = to_json(SinkState())
    with pytest.raises(BatchLost, match=r"run 1 is no longer in topic __odradek_spark_decisions: .* start the query"):
        protocol.commit(run, "query", 0, [prepared], 1)
    protocol.abort(run, [prepared])  # as Spark does
    assert world.open_ids() == []


def test_a_transaction_that_is_lost_before_the_decision_fails_the_batch() -> None:
    world = World()
    protocol = driver(world)
    run = protocol.begin_run()
    prepared = world.prepare(transactional_id("sink", run, 0, 1), ["late"])
    world.time_out()
    with pytest.raises(BatchLost, match=r"kafka\.transaction\.timeout\.ms"):
        protocol.commit(run, "query", 0, [prepared], 1)
    assert from_json(world.stored).of_query("query") is None


def test_states_are_kept_as_json() -> None:
    state = SinkState(3).decided(Decision("q", 4, 5, (PreparedTransaction("s-3-0-1", 7, 0),)))
    assert from_json(to_json(state)) == state
    assert state.completed(state.decisions[0]).unfinished == ()


def test_only_the_queries_used_last_are_remembered() -> None:
    state = SinkState()
    for number in range(40):
        state = state.decided(Decision(f"q{number}", 0, 0, (), is_completed=True))
    assert [each.query_id for each in state.decisions] == [f"q{number}" for number in range(24, 40)]


def test_errors_of_the_protocol_are_expected_ones() -> None:
    assert all(issubclass(each, ApiError) for each in (Superseded, BatchLost, BatchTorn))


def test_a_commit_begins_the_next_run_unless_another_driver_does() -> None:
    world = World()
    protocol = driver(world)
    run = protocol.begin_run()
    first = [world.prepare(transactional_id("sink", run, 0, 1), ["a"])]
    next_run = protocol.commit(run, "query", 0, first, 1)
    assert next_run == run + 1
    assert driver(world).begin_run() == run + 2
    second = [world.prepare(transactional_id("sink", next_run, 0, 2), ["b"])]
    with pytest.raises(Superseded):
        protocol.commit(next_run, "query", 1, second, 1)
    assert world.visible() == {"a": 1}
