"""Runs the doctor's job in its own process, and parses its output."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from odradek.common.failures import InputError
from odradek.spark.deploy.diagnosis import Examination, ProbedProcess
from odradek.spark.deploy.doctor_job import DoctorJob, to_line
from odradek.spark.pipeline.causes import cause_of

_COMMAND = (sys.executable, "-m", "odradek.spark.deploy.doctor_job")

_TRACEBACK = "Traceback (most recent call last):"


def run_doctor(job: DoctorJob, timeout_s: float, broker_problem: str | None = None) -> Examination:
    """Examine the cluster. Raise InputError if there is no session, or no output in time."""
    log = Path(tempfile.mkstemp(prefix="odradek-doctor-", suffix=".log")[1])
    with log.open("wb") as stream:
        process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stream,
            text=True,
            start_new_session=True,  # killed together with the JVM
        )
    try:
        output, _ = process.communicate(to_line(job), timeout_s)
    except subprocess.TimeoutExpired:
        raise InputError(_timeout_text(job, timeout_s, log)) from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    if process.returncode or not output.strip():
        text = log.read_text(errors="replace")
        start = text.rfind(_TRACEBACK)
        excerpt = text[start:] if start >= 0 else text.strip()[-2_000:]
        raise InputError(f"cannot start a Spark session: {cause_of(excerpt)} (see {log})")
    log.unlink()
    return _examination(json.loads(output), broker_problem)


def _timeout_text(job: DoctorJob, timeout_s: float, log: Path) -> str:
    target = job.remote or job.master or "the master of the settings"
    return (
        f"no executor of {target} responded within {timeout_s:.0f} s: check in the master's web page that workers are "
        f"registered and have free cores and memory, or wait longer with --timeout (see {log})"
    )


def _examination(document: dict[str, object], broker_problem: str | None) -> Examination:
    executors = document["executors"]
    driver = document["driver"]
    assert isinstance(executors, list) and isinstance(driver, dict)
    names = [f"executor {index}" for index in range(1, len(executors) + 1)]
    return Examination(
        spark=_text(document["spark"]),
        driver=ProbedProcess.from_probe("driver", driver),
        executors=[ProbedProcess.from_probe(name, result) for name, result in zip(names, executors, strict=True)],
        source_problem=_text(document["source_problem"]),
        job_problem=_text(document["job_problem"]),
        broker_problem=broker_problem,
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)
