"""One or two lines of why, out of what the JVM and its Python processes say."""

import pytest

from odradek.spark.pipeline.causes import cause_of, may_pass

LOCATION = """\
pyspark.errors.exceptions.connect.UnknownException: (org.apache.spark.sql.pipelines.graph.DatasetManager$TableMaterializationException) org.apache.spark.SparkRuntimeException: [LOCATION_ALREADY_EXISTS] Cannot name the managed table as `a`. SQLSTATE: 42710

JVM stacktrace:
org.apache.spark.sql.pipelines.graph.DatasetManager$TableMaterializationException
Caused by: org.apache.spark.SparkRuntimeException: [LOCATION_ALREADY_EXISTS] Cannot name the managed table as `a`. SQLSTATE: 42710
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.locationAlreadyExists(QueryExecutionErrors.scala:2680)
"""  # noqa: E501 - as Spark says it

TASK = """\
org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/x. SQLSTATE: 58030
\tat org.apache.spark.sql.errors.X.y(X.scala:1)
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 5, in main
    process()
odradek.errors.Unreachable: no broker answers: localhost:9092: Connection refused

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
"""

INPUT = """\
[STREAM_FAILED] Query failed: Traceback (most recent call last):
  File "source.py", line 5, in streamReader
odradek.errors.InputError: unknown option subscrib. Did you mean subscribe?
"""

ANALYSIS = (
    "pyspark.errors.exceptions.connect.AnalysisException: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column `amunt` cannot "
    "be resolved. Did you mean one of the following? [`amount`]. SQLSTATE: 42703;\n'Project ['amunt]\n+- Relation\n"
)

PROVIDER = """\
pyspark.errors.exceptions.connect.UnknownException: (org.apache.spark.sql.pipelines.graph.DatasetManager$TableMaterializationException) org.apache.spark.sql.delta.DeltaAnalysisException: [DELTA_CANNOT_CHANGE_PROVIDER] 'provider' is a reserved table property, and cannot be altered.
"""  # noqa: E501 - as Spark says it


REPLACED = (
    "(STREAM_FAILED) [PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed when Python streaming data source perform "
    "latestOffset: odradek.errors.TopicReplaced: topic orders was deleted and created again SQLSTATE: 38000"
)
TOO_LARGE = (
    "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [PYTHON_EXCEPTION] An exception was thrown "
    "from the Python worker: odradek.errors.InputError: a record of 1800146 bytes is too large SQLSTATE: XXKST"
)
WRITER = (
    "[PYTHON_DATA_SOURCE_ERROR] Failed to initialize Python data source writer: _pickle.PicklingError: Could not "
    "serialize object: Unreachable: no broker answers"
)


@pytest.mark.parametrize(
    ("text", "cause", "passes"),
    [
        (
            PROVIDER,
            "[DELTA_CANNOT_CHANGE_PROVIDER] 'provider' is a reserved table property, and cannot be altered.",
            False,
        ),
        (REPLACED, "topic orders was deleted and created again", False),
        (TOO_LARGE, "a record of 1800146 bytes is too large", False),
        (WRITER, "Unreachable: no broker answers", True),
        (LOCATION, "[LOCATION_ALREADY_EXISTS] Cannot name the managed table as `a`.", True),
        (TASK, "odradek.errors.Unreachable: no broker answers: localhost:9092: Connection refused", True),
        (INPUT, "unknown option subscrib. Did you mean subscribe?", False),
        (
            ANALYSIS,
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column `amunt` cannot be resolved. Did you mean one of the "
            "following? [`amount`].",
            False,
        ),
        ("java.lang.RuntimeException: java.net.ConnectException: refused", "refused", True),
        (
            "org.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED] Query [id = 1-2, runId = 3-4] "
            "terminated with exception: Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most "
            "recent failure: Lost task 0.0 in stage 1.0 (TID 1) (127.0.0.1 executor driver): "
            "org.apache.spark.SparkException: Python worker exited unexpectedly SQLSTATE: XXKST",
            "Python worker exited unexpectedly",
            True,
        ),
        (
            "[STREAM_FAILED] Query [id = 1-2, runId = 3-4] terminated with exception: "
            "[PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed when Python streaming data source perform "
            "initialOffset: odradek.errors.Unreachable: no broker answers: a:1: Connection refused "
            "SQLSTATE: 38000",
            "no broker answers: a:1: Connection refused",
            True,
        ),
        ("", "no reason was given", True),
        ("NameError: name 'x' is not defined", "NameError: name 'x' is not defined", False),
    ],
)
def test_causes(text: str, cause: str, passes: bool) -> None:
    assert cause_of(text) == cause
    assert may_pass(text) is passes


def test_it_is_not_long() -> None:
    assert len(cause_of("java.lang.RuntimeException: " + "x" * 5_000)) <= 400


def test_a_condition_without_an_exception() -> None:
    assert not may_pass("[AUTOCDC_TARGET_DOES_NOT_SUPPORT_MERGE] Cannot start AutoCDC flow: the target table `a`")
