"""Each template of `odradek pipeline init` works as it stands: the commands that init prints are followed, Spark runs
the project, and the sample events lead to the result that the template promises."""

import datetime
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from odradek.cli.app import run
from odradek.spark.pipeline.templates.registry import DEFAULT_TEMPLATE, TEMPLATES
from odradek.testing import Cluster
from support import figures
from support.peers import downloads as peers
from support.spark.pipelines import running

pytestmark = [pytest.mark.slow, pytest.mark.peer]

_TIMEOUT_S = 120

#: The package that the spec names would be downloaded.
_LOCAL_DELTA = {"spark.jars.packages": ""}

#: To compile a query takes longer than to run it on a few rows.
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}

#: The default one, `counts`, is that of docs/pipeline.md, whose commands are all run in test_pipeline_guide.
RESULTS: dict[str, list[object]] = {
    "join": [
        {"id": "o1", "customer": "Ada", "amount": 20.0, "method": "transfer", "waited_s": 300},
        {"id": "o2", "customer": "Kurt", "amount": 12.5, "method": "card", "waited_s": 30},
    ],
    "deduplicate": [
        {"id": "a1", "type": "book", "amount": 20.0, "time": "2026-01-31T12:00:10.000Z"},
        {"id": "a2", "type": "book", "amount": 12.5, "time": "2026-01-31T12:00:40.000Z"},
        {"id": "a3", "type": "pen", "amount": 2.5, "time": "2026-01-31T12:01:00.000Z"},
    ],
    "cdc": [{"id": 2, "name": "Kurt", "country": "US"}, {"id": 3, "name": "Emmy", "country": "US"}],
    "delta": [
        {"day": date(2026, 1, 31), "type": "book", "events": 2, "amount": 32.5},
        {"day": date(2026, 2, 1), "type": "pen", "events": 1, "amount": 2.5},
    ],
}


def test_all_templates_are_run() -> None:
    assert [*TEMPLATES] == [DEFAULT_TEMPLATE, *RESULTS]


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with Cluster() as cluster:
        yield cluster.bootstrap


@pytest.mark.parametrize("name", RESULTS)
def test_a_template(
    name: str, tmp_path: Path, bootstrap: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["pipeline", "init", "shop", "--template", name, "--topic", f"t-{name}", "-b", bootstrap]) == 0
    *before, run_command, result_command = _printed_commands(capfd.readouterr().out)
    for command in before:
        assert run(shlex.split(command)[1:]) == 0, command
    assert before[-1] == "odradek pipeline check shop" and "shop: no problems" in capfd.readouterr().out
    assert run_command == "odradek pipeline run shop"
    settings = dict(_INTERPRETED)
    if name == "delta":
        settings |= {**_LOCAL_DELTA, "spark.jars": ",".join(map(str, peers.delta_jars()))}
    with running(tmp_path / "shop", "--master", "local[2]", settings=settings) as spark:
        assert spark.end() == 0, spark.events[-20:]
        figures.report(f"template {name}", seconds=spark.of("ended")[0]["seconds"])
    assert _result(result_command, capfd) == RESULTS[name]
    if name == "delta":
        assert list((tmp_path / "shop" / "storage" / "warehouse" / "events" / "_delta_log").glob("*.json"))


def _printed_commands(out: str) -> list[str]:
    lines = out.splitlines()
    return [line.strip() for line in lines[lines.index("next:") + 1 :]]


def _result(command: str, capfd: pytest.CaptureFixture[str]) -> list[object]:
    """Records of a topic, which are JSON, or the rows of a table as Python shows them."""
    words = shlex.split(command)
    if words[0] == "odradek":
        capfd.readouterr()
        assert run(words[1:]) == 0
        return sorted(map(json.loads, capfd.readouterr().out.splitlines()), key=str)
    assert words[0] == "python"
    done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True)
    return list(eval(done.stdout, {"datetime": datetime}))
