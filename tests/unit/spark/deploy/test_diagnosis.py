from dataclasses import replace
from typing import Any

from odradek.spark.deploy.diagnosis import PROBLEM, WARNING, Examination, Process, findings

PROBE: dict[str, Any] = {
    "host": "node-1",
    "directory": "/work/app-1/0",
    "jvm": 7,
    "python": "/usr/bin/python3",
    "version": "3.11.2",
    "abi": "cpython-311",
    "packages": {"pyspark": "4.2.0", "pyarrow": "24.0.0", "numpy": "2.4.0", "pandas": None},
    "odradek": "0.1.0",
    "odradek_path": "/x/odradek",
    "plain_modules": [],
    "error": None,
    "brokers": {"broker-1:9092": None},
}
GOOD = Process.from_probe("executor 1", PROBE)
DRIVER = replace(GOOD, name="driver")


def problems(executor: Process) -> list[str]:
    found = findings(Examination("4.2.0", DRIVER, [executor]))
    assert all(each.severity == PROBLEM and each.where == "executor 1" and each.fix for each in found)
    return [each.what for each in found]


def test_nothing_is_wrong_with_a_good_cluster() -> None:
    assert findings(Examination("4.2.0", DRIVER, [GOOD])) == []


def test_an_executor_without_the_package() -> None:
    missing = replace(GOOD, odradek=None, error="odradek is not installed in x; start the job with y")
    assert problems(missing) == ["odradek is not installed in x"]
    assert problems(replace(GOOD, odradek="0.0.9")) == ["odradek 0.0.9 is there, and the driver has 0.1.0"]


def test_packages_that_are_missing_or_old() -> None:
    assert problems(replace(GOOD, packages={**GOOD.packages, "numpy": None})) == ["numpy is not installed"]
    assert problems(replace(GOOD, packages={**GOOD.packages, "pyarrow": "17.0.0"})) == [
        "pyarrow 17.0.0 is too old, PySpark needs 18 or later"
    ]
    assert problems(replace(GOOD, packages={**GOOD.packages, "pyspark": "4.1.0"})) == [
        "pyspark 4.1.0 is there, and the driver has 4.2.0"
    ]


def test_a_broker_that_is_not_reachable() -> None:
    assert problems(replace(GOOD, brokers={"broker-1:9092": None, "broker-2:9092": "Connection refused"})) == [
        "the broker broker-2:9092 is not reachable from node-1 (Connection refused)"
    ]


def test_plain_modules_are_slow_and_no_problem() -> None:
    (found,) = findings(Examination("4.2.0", DRIVER, [replace(GOOD, plain_modules=["odradek.records.batch_walk"])]))
    assert found.severity == WARNING and found.where == "executor 1"


def test_what_the_driver_lacks_comes_first() -> None:
    seen = Examination(
        "4.2.0",
        DRIVER,
        [],
        source_problem="Spark does not find it; set PYSPARK_PYTHON",
        job_problem="an executor has no Python at ./x: name another",
        broker_problem="localhost:9092 does not answer",
    )
    assert [(each.where, each.what, each.fix) for each in findings(seen)] == [
        ("brokers", "localhost:9092 does not answer", "start the brokers, or correct --bootstrap"),
        ("driver", "Spark does not find it", "set PYSPARK_PYTHON"),
        ("executors", "an executor has no Python at ./x", "name another"),
    ]


def test_what_is_wrong_with_many_executors_is_said_once() -> None:
    without = replace(GOOD, packages={**GOOD.packages, "numpy": None})
    seen = Examination("4.2.0", DRIVER, [without, GOOD, replace(without, name="executor 3")])
    assert [each.where for each in findings(seen)] == ["executor 1, executor 3"]
