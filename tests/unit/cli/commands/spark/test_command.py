"""`odradek spark`: what the verbs print, and with which status, where Spark need not run."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from odradek.cli.app import run
from odradek.cli.commands.spark import doctor
from odradek.spark.deploy.diagnosis import Examination, ProbedProcess
from odradek.spark.deploy.doctor_job import DoctorJob

GOOD = ProbedProcess(
    name="executor 1",
    host="node-1",
    directory="/work/0",
    python="/usr/bin/python3",
    version="3.11.2",
    packages={"pyspark": "4.2.0", "pyarrow": "24.0.0", "numpy": "2.4.0", "pandas": None},
    odradek="0.1.0",
    odradek_path="/x/odradek",
    plain_modules=[],
    error=None,
    brokers={"broker-1:9092": "Connection refused"},
)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--master", "local[1]", "--remote", "sc://x"], 2, "--master and --remote exclude each other"),
        (["--remote", "http://x"], 2, "expected sc://HOST:PORT"),
        (["--conf", "spark"], 2, "--conf"),
    ],
)
def test_wrong_usage_of_doctor(
    arguments: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["spark", "doctor", *arguments]) == status
    assert message in capsys.readouterr().err


def test_a_server_that_does_not_answer(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        url = f"sc://127.0.0.1:{nobody.getsockname()[1]}"
        assert run(["spark", "doctor", "--remote", url]) == 1
    assert f"{url} is not reachable: Connection refused" in capsys.readouterr().err


def seen(**more: Any) -> Callable[..., Examination]:
    def run_doctor(job: DoctorJob, timeout_s: float, broker_problem: str | None) -> Examination:
        assert job.submit_arguments() == ["--master", "spark://a:1", "--conf", "a=b", "--py-files", "x.zip"]
        return Examination(spark="4.2.0", executors=[GOOD], **more)

    return run_doctor


def test_a_problem_is_told_with_its_fix_and_the_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ODRADEK_BOOTSTRAP", raising=False)
    monkeypatch.setattr(doctor, "run_doctor", seen())
    command = ["spark", "doctor", "--master", "spark://a:1", "--conf", "a=b", "--py-files", "x.zip"]
    assert run(command) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Spark 4.2.0 finds the data source odradek; 1 executor responded"
    assert lines[2].split()[:6] == ["executor", "1", "node-1", "3.11.2", "4.2.0", "24.0.0"] and "0 of 1" in lines[2]
    assert lines[3].startswith(
        "problem: executor 1: the broker broker-1:9092 is not reachable from node-1 (Connection refused); open the"
    )
    assert run([*command, "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["good"] is False and document["processes"][0]["host"] == "node-1"
    assert document["findings"][0]["where"] == "executor 1"


def test_package_refuses_what_is_not_installed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["spark", "package", "-o", str(tmp_path), "--with", "no-such-thing"]) == 1
    assert "the package no-such-thing is not installed in this environment" in capsys.readouterr().err
