"""Which tables a plan may read, and the order in which flows start."""

from odradek.spark.pipeline.live.graph import Flow
from odradek.spark.pipeline.live.references import References, sources_first

EVENTS, ORDERS, SALES = "c.d.events", "c.d.orders", "c.d.sales"


def flow(name: str, target: str) -> Flow:
    return Flow(name, target, lambda: None, {})


def test_tables_are_found_by_name_and_in_views_that_are_named() -> None:
    views = {"big_orders": ["SELECT * FROM STREAM orders"], "bigger": ["c.d.big_orders"], "unused": ["sales"]}
    references = References(views)
    tables = [EVENTS, ORDERS, SALES]
    assert references.may_read(["orders"], tables) == [ORDERS]
    assert references.may_read(["SELECT a FROM `d`.`orders` JOIN events"], tables) == [EVENTS, ORDERS]
    assert references.may_read(["bigger"], tables) == [ORDERS]
    assert references.may_read(["paid_orders"], tables) == []


def test_views_that_name_each_other_come_to_an_end() -> None:
    assert References({"one": ["two"], "two": ["one", "events"]}).may_read(["one"], [EVENTS]) == [EVENTS]


def test_flows_start_after_those_that_write_what_they_read() -> None:
    copied, sold, stored = flow("copied", "sink"), flow(SALES, SALES), flow(EVENTS, EVENTS)
    reads = {"copied": [SALES], SALES: [EVENTS, SALES], EVENTS: []}
    assert sources_first([copied, sold, stored], reads) == [stored, sold, copied]


def test_flows_in_a_circle_start_as_they_were_given() -> None:
    one, other, first = flow("one", ORDERS), flow("other", SALES), flow(EVENTS, EVENTS)
    assert sources_first([one, other, first], {"one": [SALES], "other": [ORDERS], EVENTS: []}) == [first, one, other]
