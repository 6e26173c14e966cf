"""Mistakes that are found before Spark starts."""

import json
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.common.failures import InputError
from odradek.spark.pipeline.check import ERROR, WARNING, Checked, check_project, missing_topics
from odradek.spark.pipeline.templates.registry import TEMPLATES
from odradek.spark.pipeline.uses import Kind, Use

SPEC = "name: shop\nstorage: storage\nlibraries: [{glob: {include: transformations/**}}]\n"
THERE = {"orders": (0, 1), "clicks": (0,)}

Check = Callable[..., list[str]]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """The problems of a project with these definitions, as a person sees them."""

    def run(python: str = "", *, sql: str = "", spec: str = SPEC, needs_java: bool = False) -> list[str]:
        (tmp_path / "spark-pipeline.yml").write_text(spec)
        (tmp_path / "transformations").mkdir(exist_ok=True)
        (tmp_path / "transformations" / "a.py").write_text(python)
        (tmp_path / "transformations" / "b.sql").write_text(sql)
        checked = check_project(str(tmp_path), asks_cluster=False, needs_java=needs_java)
        return [f"{each.severity}: {each}" for each in checked.problems]

    return run


def reading(*options: str) -> str:
    said = "".join(f".option({option})" for option in options)
    return f'spark.readStream.format("odradek"){said}.load()\n'


BOOTSTRAP = '"kafka.bootstrap.servers", "localhost:1"'


def test_nothing(check: Check) -> None:
    assert check(reading(BOOTSTRAP, '"subscribe", "a"')) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (reading(BOOTSTRAP, '"subscrib", "a"'), "unknown option subscrib. Did you mean subscribe?"),
        (reading('"subscribe", "a"'), "kafka.bootstrap.servers is missing"),
        (reading(BOOTSTRAP), "no topics are named"),
        (reading(BOOTSTRAP, '"subscribe", "a"', '"subscribePattern", "b"'), "contradict each other"),
        (reading(BOOTSTRAP, '"subscribe", "a"', '"endingOffsets", "latest"'), "endingOffsets is for batch reads"),
        (reading(BOOTSTRAP, '"subscribe", "a"', '"includeHeaders", "yes"'), "'yes' is neither true nor false"),
        (
            reading(BOOTSTRAP, '"subscribe", "a"', '"kafka.auto.offset.reset", "latest"'),
            "kafka.auto.offset.reset cannot be set",
        ),
        (
            reading(BOOTSTRAP, '"subscribe", "a"', '"kafka.isolation.level", "read_comitted"'),
            "must be one of: read_committed, read_uncommitted",
        ),
        (
            reading(BOOTSTRAP, '"subscribe", "a"', '"kafka.fetch.max.byte", "1"'),
            "unknown setting 'fetch.max.byte'. Did you mean fetch.max.bytes",
        ),
        ("\ndef broken(:\n", "invalid Python"),
        ('dp.create_sink("a", "odradek", {"topic": "b"})', "kafka.bootstrap.servers is missing"),
        (
            'dp.create_sink("a", "odradek", {"kafka.bootstrap.servers": "a:1", "delivery": "once"})',
            "delivery: 'once' is not one of",
        ),
        (
            'dp.create_sink("a", "odradek", {"kafka.bootstrap.servers": "a:1", "tpic": "b"})',
            "unknown option tpic. Did you mean topic?",
        ),
        ('avro(schema_file="no.avsc")', "there is no file no.avsc"),
    ],
)
def test_what_is_wrong_in_python(check: Check, text: str, said: str) -> None:
    (problem,) = check(text)
    assert problem.startswith("error: transformations/a.py:") and said in problem


def test_what_is_not_seen_is_not_wrong(check: Check) -> None:
    """But the names are checked, and the values that are seen."""
    assert check(reading('"kafka.bootstrap.servers", where()', '"subscribe", topic()')) == []
    assert check('spark.readStream.format("odradek").options(**settings()).load()') == []
    assert check('dp.create_sink("a", "odradek", settings())') == []
    (problem,) = check(reading(BOOTSTRAP, '"subscrib", topic()'))
    assert "unknown option subscrib" in problem
    (problem,) = check(reading(BOOTSTRAP, '"subscribe", topic()', '"minPartitions", "few"'))
    assert "'few' is not an integer" in problem


def test_what_is_wrong_in_sql(check: Check) -> None:
    (problem,) = check(sql="CREATE TABLE a USING odradek OPTIONS (subscrib 'a', kafka.bootstrap.servers 'b:1');")
    assert "unknown option subscrib" in problem


def test_names_that_are_used_twice(check: Check) -> None:
    sink = 'dp.create_sink("a", "odradek", {"kafka.bootstrap.servers": "a:1", "topic": "b", "sinkId": "s"})\n'
    problems = check(sink + sink.replace('"a",', '"c",', 1))
    assert len(problems) == 2 and all(each.startswith("warning: ") and "sinkId s" in each for each in problems)


def test_the_spec(check: Check) -> None:
    problems = check(spec="nam: shop\nstorage: s\nconfiguration: {a: 1}\n")
    assert [each.split(";")[0] for each in problems] == [
        "error: spark-pipeline.yml: unknown field nam",
        "error: spark-pipeline.yml: name is missing",
        "error: spark-pipeline.yml: configuration: a: 1 must be a string",
    ]
    (problem,) = check(spec="name: a\nstorage: s\nlibraries: [{glob: {include: nothing/**}}]\n")
    assert "no file matches nothing/**" in problem
    (problem,) = check(spec="name: a\nstorage: s\n")
    assert "libraries is empty" in problem


def test_schema_files(check: Check, tmp_path: Path) -> None:
    (tmp_path / "good.avsc").write_text(json.dumps({"type": "record", "name": "A", "fields": []}))
    (tmp_path / "bad.avsc").write_text('{"type": "recrd"}')
    assert check('avro(schema_file="good.avsc")') == []
    (problem,) = check('avro(schema_file="bad.avsc")')
    assert "bad.avsc: " in problem
    text = "from odradek.spark.formats import csv, json\n"
    (tmp_path / "order.ddl").write_text("id BIGINT, name STRNG\n")
    assert check(text + 'json("id BIGINT")') == []
    (problem,) = check(text + 'csv("id BIGIN")')
    assert problem == "error: transformations/a.py:2: field id: unknown type BIGIN. Did you mean BIGINT?"
    (problem,) = check(text + 'json(schema_file="order.ddl")')
    assert "order.ddl: field name: unknown type STRNG" in problem
    (problem,) = check(text + 'json(schema_file="no.ddl")')
    assert "there is no file no.ddl" in problem


def test_modules_that_are_not_there(check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "beside.py").write_text("")
    text = "import json, beside\nfrom pyspark.sql import functions\ntry:\n    import nowhere\nexcept ImportError: ...\n"
    assert check(text) == []
    (problem,) = check(text + "from nowhere.deep import that")
    assert problem.startswith("error: transformations/a.py:6: there is no module nowhere, neither in ")
    monkeypatch.setitem(sys.modules, "fastavro", None)
    (problem,) = check('formats.avro(registry="http://r", subject="s")')
    assert problem == "error: transformations/a.py:1: avro needs fastavro: pip install 'odradek[avro]'"


def test_java(check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (problem,) = check(needs_java=True)
    assert problem.startswith("error: no Java in JAVA_HOME or PATH")
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_4\"' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    (problem,) = check(needs_java=True)
    assert "is Java 8; Spark requires Java 17" in problem
    java.write_text("#!/bin/sh\necho 'openjdk version \"21.0.1\"' >&2\n")
    assert check(needs_java=True) == []


def test_no_project() -> None:
    with pytest.raises(InputError, match="no such directory"):
        check_project("/nowhere")


def test_brokers_that_do_not_answer(tmp_path: Path) -> None:
    (tmp_path / "spark-pipeline.yml").write_text(SPEC)
    (tmp_path / "transformations").mkdir()
    (tmp_path / "transformations" / "a.py").write_text(reading(BOOTSTRAP, '"subscribe", "a"'))
    checked: Checked = check_project(str(tmp_path), needs_java=False)
    (problem,) = checked.problems
    assert not checked.is_good and "localhost:1: no broker answers" in problem.message and problem.line == 1
    checked = check_project(str(tmp_path), needs_java=False, unreachable=WARNING)
    assert checked.is_good and checked.problems == (replace(problem, severity=WARNING),)


def test_settings_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "spark-pipeline.yml").write_text(SPEC)
    (tmp_path / "transformations").mkdir()
    text = reading('"kafka.bootstrap.servers", spark.conf.get("spark.shop.brokers")', '"subscribe", "a"')
    (tmp_path / "transformations" / "a.py").write_text(text)
    checked = check_project(str(tmp_path), settings={"spark.shop.brokers": "localhost:1"}, needs_java=False)
    assert "localhost:1: no broker answers" in checked.problems[0].message


AUTO_CDC = """
dp.create_streaming_table("customers")
dp.create_auto_cdc_flow(target="customers", source="changes", keys=["id"], sequence_by="lsn")
"""


def test_auto_cdc_needs_row_level_operations(check: Check) -> None:
    problem, live = check(AUTO_CDC)
    assert problem.startswith("error: transformations/a.py:3: AUTO CDC cannot write tables in format parquet")
    assert "--template cdc" in problem
    assert live.startswith("warning: transformations/a.py:3: live mode cannot run an AUTO CDC flow")
    assert check(AUTO_CDC, spec=f"{SPEC}catalog: lake\n") == [live]


def test_packages_of_a_remote_spark_are_not_looked_for(tmp_path: Path) -> None:
    (tmp_path / "spark-pipeline.yml").write_text(f"{SPEC}configuration: {{spark.sql.sources.default: delta}}\n")
    (tmp_path / "transformations").mkdir()
    (tmp_path / "transformations" / "a.py").write_text("")
    assert "need in configuration" in str(check_project(str(tmp_path), asks_cluster=False).problems)
    assert check_project(str(tmp_path), asks_cluster=False, is_remote=True).problems == ()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"subscribe": "orders,clicks"}, []),
        ({"subscribe": "order"}, [(ERROR, "topic order does not exist; did you mean orders?")]),
        ({"subscribe": "zzz"}, [(ERROR, "topic zzz does not exist; create it with: odradek topics create zzz")]),
        ({"subscribePattern": "rd"}, []),  # anywhere in the name, as Spark has it
        ({"subscribePattern": "x.*"}, [(WARNING, "no topic matches subscribePattern x.*")]),
        ({"assign": '{"orders": [0, 5]}'}, [(ERROR, "orders has no partition 5; it has 2")]),
        ({"subscribe": "orders", "startingOffsets": '{"orders": {"0": 1, "1": -2}}'}, []),
        (
            {"subscribe": "orders", "startingOffsets": '{"orders": {"0": 1}}'},
            [(WARNING, "startingOffsets has no entry for orders-1; -2 stands for the earliest, -1 for the latest")],
        ),
        (
            {"assign": '{"clicks": [0]}', "startingOffsetsByTimestamp": '{"clicks": {"0": 1, "1": 1}}'},
            [(WARNING, "startingOffsetsByTimestamp names clicks-1, which is not read")],
        ),
    ],
)
def test_topics_to_read(options: dict[str, str], said: list[tuple[str, str]]) -> None:
    use = Use(1, Kind.STREAM, {"kafka.bootstrap.servers": "a:1", **options})
    assert list(missing_topics(use, THERE)) == said


def test_topics_to_write() -> None:
    """The cluster may make them."""
    assert list(missing_topics(Use(1, Kind.SINK, {"topic": "orders"}), THERE)) == []
    ((severity, said),) = missing_topics(Use(1, Kind.SINK, {"topic": "new"}), THERE)
    assert severity == WARNING and said.startswith("topic new does not exist yet")


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_templates_are_good(tmp_path: Path, name: str) -> None:
    for path, text in TEMPLATES[name].project("shop", "orders", "localhost:1").files().items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
        assert "@" not in text.replace("@dp.", "")
    assert check_project(str(tmp_path), asks_cluster=False, needs_java=False).problems == ()
