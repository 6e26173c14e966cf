"""The job of `odradek spark doctor`: a process with a Spark session, which runs the probe on every executor.

It takes one line of JSON on standard input and writes one on standard output: the results. All output of Spark
and the JVM goes to standard error, which is a log. As a separate process, it can be killed: in a cluster without free
cores a job waits forever.
"""

import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from odradek.spark.deploy.probe import probe
from odradek.spark.pipeline.causes import cause_of

#: Tasks of one round. Rounds are repeated until every executor has responded, or no new executor has for some rounds.
_TASKS_MIN = 8
_TASKS_PER_EXECUTOR = 4
_ROUNDS_MAX = 20
_ROUNDS_WITHOUT_NEW_MAX = 3

#: How long a task occupies its executor, so that others get tasks too.
_PAUSE_S = 0.2

#: A broker that does not respond within this time is not reachable.
_CONNECT_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class DoctorJob:
    """Input of the job: the session, and the addresses to connect to."""

    master: str | None = None
    remote: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    py_files: str | None = None
    archives: str | None = None
    #: Host and port of brokers that must be reachable.
    addresses: tuple[tuple[str, int], ...] = ()
    bootstrap: str | None = None

    def submit_arguments(self) -> list[str]:
        """Return the arguments for spark-submit."""
        arguments = ["--master", self.master] if self.master else []
        for name, value in self.settings.items():
            arguments += ["--conf", f"{name}={value}"]
        arguments += ["--py-files", self.py_files] if self.py_files else []
        arguments += ["--archives", self.archives] if self.archives else []
        return arguments


def _session(job: DoctorJob) -> Any:
    from pyspark.sql import SparkSession

    if job.remote is None:
        os.environ["PYSPARK_SUBMIT_ARGS"] = shlex.join([*job.submit_arguments(), "pyspark-shell"])
        return SparkSession.builder.appName("odradek spark doctor").getOrCreate()
    session = SparkSession.builder.remote(job.remote).getOrCreate()
    if job.py_files:
        session.addArtifacts(*job.py_files.split(","), pyfile=True)
    if job.archives:
        session.addArtifacts(*job.archives.split(","), archive=True)
    for name, value in job.settings.items():
        session.conf.set(name, value)
    return session


def _executor_count(session: Any, job: DoctorJob) -> int | None:
    """Return the number of executors, or None behind a Spark Connect server, which does not provide it."""
    if job.remote is not None:
        return None
    infos = session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    return max(1, len(infos) - 1)  # one of them is the driver, which is also the only executor of a local master


def _source_problem(session: Any, job: DoctorJob) -> str | None:
    options = {"kafka.bootstrap.servers": job.bootstrap or "localhost:9092", "subscribe": "any"}
    try:
        return None if session.read.format("odradek").options(**options).load().schema else "no schema"
    except Exception as error:  # noqa: BLE001 - raised by Spark, or by the JVM through Py4J
        return cause_of(str(error))


def _executors(session: Any, job: DoctorJob, request: str) -> dict[tuple[str, int], Any]:
    """Return the results of the probe by host and process id of the executor."""
    from pyspark.sql import functions
    from pyspark.sql.types import StringType

    run = functions.udf(probe, StringType(), useArrow=False).asNondeterministic()
    results: dict[tuple[str, int], Any] = {}
    rounds_without_new = 0
    for _ in range(_ROUNDS_MAX):
        count = _executor_count(session, job)
        tasks = max(_TASKS_MIN, _TASKS_PER_EXECUTOR * (count or 1))
        rows = session.range(0, tasks, 1, tasks).select(run(functions.lit(request)).alias("result")).collect()
        previous_count = len(results)
        for row in rows:
            result = json.loads(row["result"])
            results[result["host"], result["jvm"]] = result
        if count is not None and len(results) >= count:
            break
        rounds_without_new = rounds_without_new + 1 if len(results) == previous_count else 0
        if rounds_without_new == _ROUNDS_WITHOUT_NEW_MAX:
            break
    return results


def examine(job: DoctorJob) -> dict[str, Any]:
    """Return the results as plain values."""
    request = {"addresses": job.addresses, "connect_timeout_s": _CONNECT_TIMEOUT_S}
    session = _session(job)
    result: dict[str, Any] = {
        "spark": session.version,
        "driver": json.loads(probe(json.dumps(request))),
        "source_problem": _source_problem(session, job),
        "executors": [],
        "job_problem": None,
    }
    try:
        executors = _executors(session, job, json.dumps({**request, "pause_s": _PAUSE_S}))
    except Exception as error:  # noqa: BLE001 - raised by Spark, or by the JVM through Py4J
        result["job_problem"] = cause_of(str(error))
    else:
        result["executors"] = [executors[key] for key in sorted(executors)]
    session.stop()
    return result


def main() -> int:
    output = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    fields = json.loads(sys.stdin.readline())
    fields["addresses"] = tuple((host, port) for host, port in fields["addresses"])
    result = examine(DoctorJob(**fields))
    output.write(json.dumps(result) + "\n")
    output.flush()
    return 0


def to_line(job: DoctorJob) -> str:
    return json.dumps(asdict(job)) + "\n"


if __name__ == "__main__":
    sys.exit(main())
