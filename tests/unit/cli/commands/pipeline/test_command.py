"""`odradek pipeline`: what the verbs say, and with which status, where Spark need not run."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from odradek.cli.app import run
from odradek.cli.base.options import Settings
from odradek.cli.commands.pipeline.run import with_full_paths
from odradek.cli.commands.pipeline.show import display, line_of
from odradek.spark.pipeline import events
from odradek.spark.pipeline.state import RunState
from odradek.spark.pipeline.templates.registry import TEMPLATES


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_init(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "init", "shop", "--topic", "orders", "-b", "kafka:9092"]) == 0
    said = capsys.readouterr().out
    assert "odradek topics create orders.dead -b kafka:9092\n" in said and "odradek pipeline run shop" in said
    text = (directory / "shop" / "transformations" / "events.py").read_text()
    assert 'BOOTSTRAP = "kafka:9092"' in text and '.option("subscribe", "orders")' in text
    compile(text, "events.py", "exec")


def test_init_overwrites_nothing(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / "shop").mkdir()
    (directory / "shop" / "mine.txt").write_text("mine")
    assert run(["pipeline", "init", "shop"]) == 1
    assert "shop exists and is not empty" in capsys.readouterr().err
    assert [path.name for path in (directory / "shop").iterdir()] == ["mine.txt"]
    assert run(["pipeline", "init", "a b"]) == 1
    assert "'a b' is not a valid pipeline name" in capsys.readouterr().err


def test_init_in_directories_with_strange_names(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "init", "my shops/tea"]) == 1
    assert "my shops/tea contains ' ', which Spark would misread" in capsys.readouterr().err
    assert run(["pipeline", "init", "it's/tea"]) == 0
    assert """odradek pipeline run 'it'"'"'s/tea'\n""" in capsys.readouterr().out
    assert run(["pipeline", "init", "."]) == 1
    assert ". exists and is not empty" in capsys.readouterr().err


def test_init_here(directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / "shop").mkdir()
    monkeypatch.chdir(directory / "shop")
    assert run(["pipeline", "init", "."]) == 0
    assert "name: shop\n" in (directory / "shop" / "spark-pipeline.yml").read_text()
    said = capsys.readouterr().out
    assert "odradek pipeline run .\n" in said and "odradek produce events events.jsonl\n" in said


def test_init_with_templates(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "init", "--template", "list"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said] == ["template", *TEMPLATES]
    for name in TEMPLATES:
        assert run(["pipeline", "init", name, "--template", name, "-b", "kafka:9092"]) == 0
        said = capsys.readouterr().out.splitlines()
        template = TEMPLATES[name]
        for file, topic in template.project(name, template.default_topic, "").samples.items():
            assert f"  odradek produce {topic} {name}/{file} -b kafka:9092" in said
            for line in (directory / name / file).read_text().splitlines():
                json.loads(line)
        assert run(["pipeline", "check", name, "--offline"]) == 0
        capsys.readouterr()


def test_init_with_a_template_that_does_not_exist(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "init", "shop", "--template", "joins"]) == 2
    assert "unknown template 'joins'; did you mean join?" in capsys.readouterr().err
    assert run(["pipeline", "init"]) == 2
    assert "Missing argument 'NAME'" in capsys.readouterr().err
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("topic", ["a b", "", "x" * 245])
def test_init_with_a_topic_that_cannot_be(directory: Path, topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of counts and dead letters have longer names than it."""
    assert run(["pipeline", "init", "shop", "--topic", topic]) == 1
    assert "invalid topic name: " in capsys.readouterr().err
    assert not (directory / "shop").exists()


def test_init_as_json(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "init", "shop", "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["project"] == str(directory / "shop") and "spark-pipeline.yml" in said["files"]
    assert said["topics"] == ["events", "events.counts", "events.dead"]


def test_check(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["pipeline", "init", "shop"])
    capsys.readouterr()
    assert run(["pipeline", "check", "shop", "--offline"]) == 0
    assert capsys.readouterr().out == "shop: no problems in 2 files\n"
    path = directory / "shop" / "transformations" / "events.py"
    path.write_text(path.read_text().replace("startingOffsets", "startOffsets"))
    assert run(["pipeline", "check", "shop", "--offline"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("error: transformations/events.py:") and said[-1] == "1 error"
    assert "unknown option startOffsets. Did you mean startingOffsets?" in said[0]
    assert run(["pipeline", "check", "shop", "--offline", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["good"] is False and document["problems"][0]["file"] == "transformations/events.py"
    assert set(document["problems"][0]) == {"what", "file", "line", "severity"}


def test_a_project_from_inside(directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    run(["pipeline", "init", "shop"])
    monkeypatch.chdir(directory / "shop" / "transformations")
    assert run(["pipeline", "check", "--offline"]) == 0


def test_run_checks_first(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All that is wrong is reported at once, as `check` does, and Spark is not started."""
    run(["pipeline", "init", "shop", "-b", "localhost:1"])
    path = directory / "shop" / "transformations" / "events.py"
    text = path.read_text().replace("startingOffsets", "startOffsets").replace("sinkId", "sinkIdentity")
    path.write_text(text)
    capsys.readouterr()
    assert run(["pipeline", "check", "shop"]) == 1
    checked = capsys.readouterr().out
    assert checked.endswith("3 errors\n")
    assert run(["pipeline", "run", "shop"]) == 1
    out, err = capsys.readouterr()
    assert (out, err) == ("", checked)
    assert run(["pipeline", "run", "shop", "--format", "json"]) == 1
    (document,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (document["event"], document["good"], len(document["problems"])) == ("check", False, 3)
    assert not (directory / "shop" / "storage").exists()


class _Stop(Exception):
    pass


def test_brokers_that_are_away_when_run_starts(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are tried again with --continuous; a single update would be in vain."""

    def started(*_: object) -> None:
        raise _Stop

    monkeypatch.setattr("odradek.cli.commands.pipeline.run.Runner", started)
    run(["pipeline", "init", "shop", "-b", "localhost:1"])
    capsys.readouterr()
    assert run(["pipeline", "run", "shop"]) == 1
    assert "error: transformations/events.py:" in capsys.readouterr().err
    for words in (["--continuous"], ["--no-check"]):
        with pytest.raises(_Stop):
            run(["pipeline", "run", "shop", *words])
        err = capsys.readouterr().err
        assert ("warning: transformations/events.py:" in err) is (words == ["--continuous"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--trigger", "5s"], "--trigger, --updates and --standby require --continuous"),
        (["--continuous", "--trigger", "soon"], "'soon' is not a duration"),
        (["--master", "nonsense"], "'nonsense' is not a master, such as local[2]"),
        (["--remote", "http://a"], "'http://a' is not the URL of a Spark Connect server"),
        (["--master", "local", "--remote", "sc://a"], "exclude each other"),
        (["--full-refresh-all", "--refresh", "a"], "--full-refresh-all excludes"),
        (["--conf", "novalue"], "is not a valid setting"),
        (["--retries", "-1"], "--retries"),
        (["--metrics", "here"], "--metrics: 'here' is not an address"),
    ],
)
def test_wrong_usage(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "run", "shop", *words]) == 2
    assert said in capsys.readouterr().err


def test_no_project(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("run", "check", "status", "report"):
        assert run(["pipeline", verb, "shop"]) == 1
        assert "odradek: shop: no such directory" in capsys.readouterr().err


def test_status(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["pipeline", "init", "shop", "-b", "localhost:1"])
    capsys.readouterr()
    assert run(["pipeline", "status", "shop"]) == 0
    assert capsys.readouterr().out == "shop: never ran\nevents.dead: ?\n"
    assert run(["pipeline", "status", "shop", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["state"] == "never ran"
    assert document["dead_letters"] == [{"topic": "events.dead", "records": None, "waiting": None}]


# The display

PROGRESS = events.Progress(
    time_ms=0,
    flow="orders",
    update=1,
    batch_id=7,
    rows_in=1_200,
    rows_out=None,
    rows_per_s=99.6,
    duration_ms=1,
    lag=3,
    offsets={},
)
STARTED = events.Started(
    time_ms=0, pipeline="shop", project="p", storage="s", log="/x/spark.log", pid=1, continuous=True
)


def test_lines() -> None:
    assert line_of(PROGRESS) == "flow orders batch 7: 1,200 rows in, 100 rows/s, lag 3 records"
    assert line_of(STARTED) == "pipeline shop runs until it is stopped; Spark's log is /x/spark.log"
    assert line_of(events.Update(time_ms=0, update=2, state="running")) is None
    failed = events.Update(time_ms=0, update=2, state="failed", seconds=1.25, error="broken")
    assert line_of(failed) == "update 2 failed in 1.2 s: broken"
    assert line_of(events.Flow(time_ms=0, flow="a", update=1, state="running")) is None
    retry = events.Retry(time_ms=0, attempt=2, retries=5, wait_s=2.0, cause="busy")
    assert (line_of(events.Stopping(time_ms=0)) or "").startswith("stopping within ten seconds")
    assert line_of(retry) == "trying again in 2 s (2 of 5 retries): busy"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The table changes on stderr; what matters stays above it, and a summary remains on stdout."""
    screen = _Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    state = RunState()
    with display(Settings()) as show:
        for event in (STARTED, PROGRESS, events.Flow(time_ms=0, flow="orders", update=1, state="failed", error="bad")):
            show(state, state.apply(event))
    assert "flow orders failed: bad" in screen.getvalue()
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["flow", "state", "batches", "rows", "in", "rows", "out", "lag", "restarts"]
    assert out[1].split() == ["orders", "failed", "1", "1,200", "-", "3", "0"]
    assert out[2] == "shop running: 0 updates, 1,200 rows in, 0 rows out"


def test_plain_lines_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    with display(Settings(utc=True)) as show:
        show(RunState(), PROGRESS)
    assert capsys.readouterr().out.startswith("1970-01-01 00:00:00.000 flow orders batch 7: ")
    with display(Settings(format="json")) as show:
        show(RunState(), PROGRESS)
    assert json.loads(capsys.readouterr().out)["event"] == "progress"


def test_files_of_settings_are_named_from_the_directory_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jar").touch()
    (tmp_path / "env.tar.gz").touch()
    given = {
        "spark.archives": "env.tar.gz#environment",
        "spark.jars": "a.jar, missing.jar,hdfs:///b.jar",
        "spark.app.name": "a.jar",
    }
    assert with_full_paths(given) == {
        "spark.archives": f"{tmp_path}/env.tar.gz#environment",
        "spark.jars": f"{tmp_path}/a.jar,missing.jar,hdfs:///b.jar",
        "spark.app.name": "a.jar",
    }
