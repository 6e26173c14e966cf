"""Runs the doctor's job in a process of its own, and makes of its answer an examination."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from odradek.common.failures import InputError
from odradek.spark.deploy.diagnosis import Examination, Process
from odradek.spark.deploy.doctor_job import DoctorJob, to_line
from odradek.spark.pipeline.causes import cause_of

_COMMAND = (sys.executable, "-m", "odradek.spark.deploy.doctor_job")

_TRACEBACK = "Traceback (most recent call last):"


def run_doctor(job: DoctorJob, timeout_s: float, broker_problem: str | None = None) -> Examination:
    """Examine the cluster. Raise InputError if there is no session, or no answer in time."""
    log = Path(tempfile.mkstemp(prefix="odradek-doctor-", suffix=".log")[1])
    with log.open("wb") as stream:
        process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stream,
            text=True,
            start_new_session=True,  # it is ended as a whole, with the JVM
        )
    try:
        answer, _ = process.communicate(to_line(job), timeout_s)
    except subprocess.TimeoutExpired:
        raise InputError(_late(job, timeout_s, log)) from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    if process.returncode or not answer.strip():
        text = log.read_text(errors="replace")
        start = text.rfind(_TRACEBACK)
        said = text[start:] if start >= 0 else text.strip()[-2_000:]
        raise InputError(f"there is no session of Spark: {cause_of(said)} (more is in {log})")
    log.unlink()
    return _examination(json.loads(answer), broker_problem)


def _late(job: DoctorJob, timeout_s: float, log: Path) -> str:
    where = job.remote or job.master or "the master of the settings"
    return (
        f"no executor of {where} has answered within {timeout_s:.0f} s: look in the master's web page whether workers "
        f"are registered and have free cores and memory, or wait longer with --timeout (more is in {log})"
    )


def _examination(answer: dict[str, object], broker_problem: str | None) -> Examination:
    executors = answer["executors"]
    driver = answer["driver"]
    assert isinstance(executors, list) and isinstance(driver, dict)
    names = [f"executor {number}" for number in range(1, len(executors) + 1)]
    return Examination(
        spark=_text(answer["spark"]),
        driver=Process.from_probe("driver", driver),
        executors=[Process.from_probe(name, found) for name, found in zip(names, executors, strict=True)],
        source_problem=_text(answer["source_problem"]),
        job_problem=_text(answer["job_problem"]),
        broker_problem=broker_problem,
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)
