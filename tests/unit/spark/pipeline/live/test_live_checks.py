"""What `check` says of live mode."""

from odradek.spark.pipeline.live.checks import LiveProblem, configuration_problem, definition_problems


def test_use_in_sql_is_a_warning() -> None:
    text = "-- USE nothing;\nSET a = b;\nUSE DATABASE\n  shop;\nCREATE STREAMING TABLE t AS SELECT 1;"
    advice = "run --continuous runs the pipeline as updates instead"
    expected = [LiveProblem(f"live mode cannot run USE DATABASE shop; {advice}", 3, is_warning=True)]
    assert list(definition_problems(text, is_sql=True)) == expected


def test_an_interval_that_is_none_is_an_error() -> None:
    (in_sql,) = definition_problems("\nSET pipelines.trigger.interval = soon;", is_sql=True)
    (in_python,) = definition_problems('@dp.table(spark_conf={"pipelines.trigger.interval": "soon"})', is_sql=False)
    for problem, line in ((in_sql, 2), (in_python, 1)):
        assert (problem.line, problem.is_warning) == (line, False)
        assert problem.message.startswith("pipelines.trigger.interval: 'soon' is not an interval, such as '10 seconds'")
    assert configuration_problem({"pipelines.trigger.interval": "10 apples"}) is not None


def test_right_intervals_are_no_problem() -> None:
    sql = "SET pipelines.trigger.interval = 10 seconds;\nSET pipelines.trigger.interval = '1 minute';"
    assert not list(definition_problems(sql, is_sql=True))
    assert not list(definition_problems('{"pipelines.trigger.interval": "5s"}', is_sql=False))
    assert configuration_problem({"pipelines.trigger.interval": "1 minute"}) is None
    assert configuration_problem({}) is None
