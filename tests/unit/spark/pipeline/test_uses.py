"""Topics that definitions read and write, seen in their text."""

import pytest

from odradek.spark.pipeline.uses import Kind, Use, python_uses, sql_uses

CHAIN = """
BOOTSTRAP = "a:9092"
NAME = "orders"
OPTIONS = {"subscribe": f"{NAME}.raw", **{"startingOffsets": "earliest"}}

def reads():
    return (
        spark.readStream.format("odradek")
        .option("kafka.bootstrap.servers", BOOTSTRAP)
        .options(**OPTIONS)
        .option("maxOffsetsPerTrigger", 1_000)
        .option("includeHeaders", True)
        .load()
    )
"""


def only(text: str, configuration: dict[str, str] | None = None) -> Use:
    (use,) = python_uses(text, configuration or {}).uses
    return use


def test_a_chain_with_constants() -> None:
    use = only(CHAIN)
    assert (use.kind, use.name, use.line, use.is_seen) == (Kind.STREAM, "reads", 8, True)
    assert use.options == {
        "kafka.bootstrap.servers": "a:9092",
        "subscribe": "orders.raw",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "1000",
        "includeHeaders": "true",
    }


def test_what_stands_further_right_counts() -> None:
    assert only('spark.read.format("odradek").option("subscribe", "a").option("subscribe", "b").load()').options == {
        "subscribe": "b"
    }


def test_a_batch_and_keyword_arguments() -> None:
    use = only('spark.read.load(format="odradek", subscribe="a", endingOffsets="latest")')
    assert use.kind is Kind.BATCH and use.options == {"subscribe": "a", "endingOffsets": "latest"}


@pytest.mark.parametrize(
    "text",
    [
        'spark.readStream.format("kafka").option("subscribe", "a").load()',
        'spark.readStream.table("a")',
        'json.load("a")',
        'something.format("odradek").load()',
        'spark.readStream.format("odradek").strange().load()',
        'dp.create_sink("a", "kafka", {"topic": "b"})',
    ],
)
def test_what_is_none_of_ours(text: str) -> None:
    assert python_uses(text, {}).uses == []


def test_sinks() -> None:
    text = 'dp.create_sink("out", "odradek", {"topic": "a"})\ndp.create_sink(name="o2", format="odradek", options=O)'
    first, second = python_uses(text, {}).uses
    assert (first.kind, first.name, first.options, first.is_seen) == (Kind.SINK, "out", {"topic": "a"}, True)
    assert (second.name, second.line, second.is_complete) == ("o2", 2, False)


def test_values_that_are_not_seen() -> None:
    use = only('spark.read.format("odradek").option("subscribe", topic()).option("includeHeaders", "true").load()')
    assert use.unseen == {"subscribe"} and use.options == {"includeHeaders": "true"} and not use.is_seen
    assert not only('spark.read.format("odradek").options(**settings()).load()').is_complete
    assert not only('spark.read.format("odradek").option(name(), "a").load()').is_complete


HELPERS = """
TOPIC = "not this"
GROUP = "group of "

def topic(TOPIC, *, group="g"):
    return spark.readStream.format("odradek").options(subscribe=TOPIC, lagGroup=group).load()

def sink(name, topic):
    dp.create_sink(name, "odradek", {"topic": topic})

def a():
    return topic("a")

def b():
    return topic(TOPIC="b", group=GROUP + where())

topic(*names)
sink("s", topic=f"{'c'}.out")
"""


def test_arguments_of_functions_of_the_module() -> None:
    found = python_uses(HELPERS, {}).uses
    assert [(each.line, each.options, each.unseen) for each in found] == [
        (12, {"subscribe": "a", "lagGroup": "g"}, frozenset()),
        (15, {"subscribe": "b"}, {"lagGroup"}),
        (17, {"lagGroup": "g"}, {"subscribe"}),
        (18, {"topic": "c.out"}, frozenset()),
    ]


def test_values_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOPIC", "from-environment")
    text = """
spark.read.format("odradek").options(
    subscribe=os.environ["SHOP_TOPIC"],
    lagGroup=os.environ.get("NOT_THERE", "default"),
    a=spark.conf.get("spark.shop.a"),
    b=spark.conf.get("spark.shop.b", "default"),
    c=",".join(["x", "y"]),
    d=",".join(FORMATS),
    e="a" + NAME,
    f=str(5),
).load()
NAME = "name"
FORMATS = {"one": 1, "two": 2}
"""
    assert only(text, {"spark.shop.a": "said"}).options == {
        "subscribe": "from-environment",
        "lagGroup": "default",
        "a": "said",
        "b": "default",
        "c": "x,y",
        "d": "one,two",
        "e": "aname",
        "f": "5",
    }


def test_a_constant_made_of_itself() -> None:
    assert only('A = A + "a"\nspark.read.format("odradek").option("subscribe", A).load()').unseen == {"subscribe"}


def test_dead_letters_formats_and_schema_files() -> None:
    found = python_uses(
        """
from odradek.spark import formats
from odradek.spark.formats import csv as lines
avro(schema_file="orders.avsc")
protobuf("shop.Order", descriptor_file="orders.desc")
avro(registry="http://r", subject="s")
formats.json("id BIGINT")
lines(schema_file="a.ddl")
spark.read.json("no schema")

@dp.table(format="Delta")
def t(): ...

@dp.append_flow(target="dead")
def rejects():
    return rejected(rows, "error", step="x")

@dp.append_flow(target="alive")
def others():
    return rows
""",
        {},
    )
    assert [(each.line, each.format, each.arguments) for each in found.schemas] == [
        (4, "avro", {"schema_file": "orders.avsc"}),
        (5, "protobuf", {"descriptor_file": "orders.desc", "message": "shop.Order"}),
        (7, "json", {"schema": "id BIGINT"}),
        (8, "csv", {"schema_file": "a.ddl"}),
    ]
    assert found.dead_letter_sinks == {"dead"}
    assert found.table_formats == {"delta": 11}


def test_sql() -> None:
    found = sql_uses(
        """-- USING odradek OPTIONS (subscribe 'no')
CREATE STREAMING TABLE a USING delta AS SELECT 1;
CREATE TABLE b /* USING x */ USING odradek
OPTIONS (subscribe 'orders', "kafka.bootstrap.servers" = "a:9092", includeHeaders true);
"""
    )
    assert found.table_formats == {"delta": 2}
    (use,) = found.uses
    assert use.line == 3
    assert use.options == {"subscribe": "orders", "kafka.bootstrap.servers": "a:9092", "includeHeaders": "true"}
