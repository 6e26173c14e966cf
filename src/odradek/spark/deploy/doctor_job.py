"""The job of `odradek spark doctor`: a process with a Spark session, which runs the probe on every executor.

It takes one line of JSON on standard input and writes one on standard output: what it saw. All that Spark and the JVM
print goes to standard error, which is a log. Being a process of its own, it can be given up on: a cluster without free
cores makes a job wait for ever.
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

#: Tasks of one round. There are rounds until every executor has answered, or nothing new has come for some of them.
_TASKS_MIN = 8
_TASKS_PER_EXECUTOR = 4
_ROUNDS_MAX = 20
_ROUNDS_WITHOUT_NEWS = 3

#: How long a task holds its executor, so that the others get tasks too.
_PAUSE_S = 0.2

#: A broker that does not answer within this is not reachable.
_CONNECT_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class DoctorJob:
    master: str | None = None
    remote: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    py_files: str | None = None
    archives: str | None = None
    #: Host and port of the brokers that are to be reached.
    addresses: tuple[tuple[str, int], ...] = ()
    bootstrap: str | None = None

    def submit_arguments(self) -> list[str]:
        """What spark-submit would be called with."""
        words = ["--master", self.master] if self.master else []
        for name, value in self.settings.items():
            words += ["--conf", f"{name}={value}"]
        words += ["--py-files", self.py_files] if self.py_files else []
        words += ["--archives", self.archives] if self.archives else []
        return words


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
    """How many executors there are; None behind a Spark Connect server, which does not tell."""
    if job.remote is not None:
        return None
    infos = session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    return max(1, len(infos) - 1)  # one of them is the driver, which is also the only executor of a local master


def _source_problem(session: Any, job: DoctorJob) -> str | None:
    options = {"kafka.bootstrap.servers": job.bootstrap or "localhost:9092", "subscribe": "any"}
    try:
        return None if session.read.format("odradek").options(**options).load().schema else "no schema"
    except Exception as error:  # noqa: BLE001 - of Spark, or of the JVM by way of Py4J
        return cause_of(str(error))


def _executors(session: Any, job: DoctorJob, request: str) -> dict[tuple[str, int], Any]:
    """By host and process id of the executor: what the probe found there."""
    from pyspark.sql import functions
    from pyspark.sql.types import StringType

    run = functions.udf(probe, StringType(), useArrow=False).asNondeterministic()
    found: dict[tuple[str, int], Any] = {}
    rounds_without_news = 0
    for _ in range(_ROUNDS_MAX):
        count = _executor_count(session, job)
        tasks = max(_TASKS_MIN, _TASKS_PER_EXECUTOR * (count or 1))
        rows = session.range(0, tasks, 1, tasks).select(run(functions.lit(request)).alias("found")).collect()
        before = len(found)
        for row in rows:
            answer = json.loads(row["found"])
            found[answer["host"], answer["jvm"]] = answer
        if count is not None and len(found) >= count:
            break
        rounds_without_news = rounds_without_news + 1 if len(found) == before else 0
        if rounds_without_news == _ROUNDS_WITHOUT_NEWS:
            break
    return found


def examine(job: DoctorJob) -> dict[str, Any]:
    """Return what was seen, in plain values."""
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
    except Exception as error:  # noqa: BLE001 - of Spark, or of the JVM by way of Py4J
        result["job_problem"] = cause_of(str(error))
    else:
        result["executors"] = [executors[key] for key in sorted(executors)]
    session.stop()
    return result


def main() -> int:
    output = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    given = json.loads(sys.stdin.readline())
    given["addresses"] = tuple((host, port) for host, port in given["addresses"])
    result = examine(DoctorJob(**given))
    output.write(json.dumps(result) + "\n")
    output.flush()
    return 0


def to_line(job: DoctorJob) -> str:
    return json.dumps(asdict(job)) + "\n"


if __name__ == "__main__":
    sys.exit(main())
