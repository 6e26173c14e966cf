"""The accounting finds nothing where all is well, and whatever is lost, doubled or wrong."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from demo.accounting import Check, Found, Paid, Sale, account, balances
from demo.events import Kind
from demo.expected import Expected, Interest, Place, Totals, Window, expect
from unit.demo.demo_books import book_of, found_of

EXPECTED = expect(book_of(20))
FOUND = found_of(EXPECTED)


def unmet(found: Found) -> set[str]:
    return {check.what for check in account(EXPECTED, found) if not check.is_met}


def test_where_all_is_well_every_figure_is_met() -> None:
    checks = account(EXPECTED, FOUND)
    assert len(checks) > 30 and all(check.is_met for check in checks)
    for balance in balances(EXPECTED, FOUND):
        assert balance.produced == balance.in_table + balance.duplicates + balance.dead_letters
        assert min(balance.in_table, balance.duplicates, balance.dead_letters, balance.late) > 0


def table(change: Callable[[list[str]], list[str]]) -> Found:
    return replace(FOUND, tables={**FOUND.tables, Kind.ORDER: change([*FOUND.tables[Kind.ORDER]])})


def dead(change: Callable[[list[Place]], list[Place]]) -> Found:
    return replace(FOUND, dead_letters=change([*FOUND.dead_letters]))


SUM = "orders: in the table + duplicates dropped + dead letters"
TABLE, DEAD = "orders in the table", "orders among the dead letters"
PAID, SALES = "paid orders in their table", "windows of sales in their topic"
SALE = FOUND.sales[0]
MORE = Sale(SALE.window, Totals(SALE.totals.orders + 1, SALE.totals.units, SALE.totals.cents))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(table(lambda ids: ids[1:]), {SUM, f"{TABLE}: missing"}, id="lost from a table"),
        pytest.param(table(lambda ids: [*ids, ids[0]]), {SUM, f"{TABLE}: doubled"}, id="doubled in a table"),
        pytest.param(
            table(lambda ids: [*ids[1:], ids[1]]),
            {f"{TABLE}: missing", f"{TABLE}: doubled"},
            id="one lost and another doubled, so that the sum is right",
        ),
        pytest.param(
            table(lambda ids: [*ids[1:], "o-stranger"]),
            {f"{TABLE}: missing", f"{TABLE}: not expected"},
            id="one that was never produced",
        ),
        pytest.param(dead(lambda places: places[1:]), {SUM, f"{DEAD}: missing"}, id="a dead letter lost"),
        pytest.param(dead(lambda places: [places[0], *places]), {SUM, f"{DEAD}: doubled"}, id="a dead letter doubled"),
        pytest.param(
            dead(lambda places: [Place("orders", 7, 7), *places[1:]]),
            {f"{DEAD}: missing", f"{DEAD}: not expected"},
            id="a good event among the dead letters",
        ),
        pytest.param(replace(FOUND, paid=FOUND.paid[1:]), {f"{PAID}: missing"}, id="a paid order lost"),
        pytest.param(
            replace(FOUND, paid=[*FOUND.paid, FOUND.paid[0]]), {f"{PAID}: doubled"}, id="doubled in the table"
        ),
        pytest.param(
            replace(FOUND, paid=[Paid(FOUND.paid[0].order, -5), *FOUND.paid[1:]]),
            {"paid orders with a wrong amount"},
            id="a wrong amount",
        ),
        pytest.param(replace(FOUND, sales=FOUND.sales[1:]), {f"{SALES}: missing"}, id="a window lost"),
        pytest.param(replace(FOUND, sales=[*FOUND.sales, SALE]), {f"{SALES}: doubled"}, id="a window doubled"),
        pytest.param(
            replace(FOUND, sales=[MORE, *FOUND.sales[1:]]), {"windows of sales with wrong totals"}, id="a wrong window"
        ),
        pytest.param(
            replace(FOUND, conversion={**FOUND.conversion, "tea": Interest(0, 0)}),
            {"categories with wrong counts in the table of conversion"},
            id="a wrong view",
        ),
        pytest.param(
            replace(FOUND, records={**FOUND.records, Kind.ORDER: 3}),
            {"orders: records in the topic, as many as were acknowledged"},
            id="an acknowledged record that is not in the topic",
        ),
    ],
)
def test_what_is_wrong_is_found(found: Found, expected: set[str]) -> None:
    assert unmet(found) == expected


def test_sales_are_those_of_orders_and_payments_that_were_kept() -> None:
    """By hand, from a book of a few lines."""
    book = [entry for entry in book_of(20) if entry.order in ("", *list(EXPECTED.paid)[:2])]
    small: Expected = expect(book)
    assert sum(totals.orders for totals in small.sales.values()) == 2
    (order, payment), *_ = small.paid.items()
    window = next(window for window in small.sales if window.start_ms <= payment.at_ms < window.start_ms + 10_000)
    assert window == Window(payment.at_ms // 10_000 * 10_000, small.kept[Kind.ORDER][order].product.partition("-")[0])


def test_a_check_is_met_by_the_very_number() -> None:
    assert Check("x", 3, 3).is_met and not Check("x", 3, 4).is_met
