"""What the tables and topics must hold, worked out from the generator's book alone. Pure.

An order is paid when both it and its payment were kept. Paid orders are counted by the ten seconds in which they were
paid and by category; the closing order's own window is still open at the end, so it is in no window.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from demo.events import CLOSING_PAYMENT, LATE, Fate, Kind, read_products
from demo.ledger import Entry

WINDOW_MS = 10_000


class Place(NamedTuple):
    """Of a record."""

    topic: str
    partition: int
    offset: int


class Window(NamedTuple):
    start_ms: int
    category: str


class Totals(NamedTuple):
    orders: int
    units: int
    cents: int


class Interest(NamedTuple):
    """In a category."""

    clicks: int
    orders: int


@dataclass(frozen=True, slots=True)
class Expected:
    produced: Counter[Kind] = field(default_factory=Counter)
    duplicates: Counter[Kind] = field(default_factory=Counter)
    late: Counter[Kind] = field(default_factory=Counter)
    #: By id.
    kept: dict[Kind, dict[str, Entry]] = field(default_factory=lambda: {kind: {} for kind in Kind})
    broken: dict[Kind, dict[Place, Entry]] = field(default_factory=lambda: {kind: {} for kind in Kind})
    #: Payments by the id of their order.
    paid: dict[str, Entry] = field(default_factory=dict)
    sales: dict[Window, Totals] = field(default_factory=dict)
    conversion: dict[str, Interest] = field(default_factory=dict)


def expect(book: Iterable[Entry]) -> Expected:
    made = Expected()
    for entry in book:
        _enter(made, entry)
    orders = made.kept[Kind.ORDER]
    made.paid.update({each.order: each for each in made.kept[Kind.PAYMENT].values() if each.order in orders})
    categories = {each.product: each.category for each in read_products()}
    _add_sales(made, categories)
    for category in categories.values():
        counts = (_count(made.kept[kind].values(), categories, category) for kind in (Kind.CLICK, Kind.ORDER))
        made.conversion[category] = Interest(*counts)
    return made


def _enter(made: Expected, entry: Entry) -> None:
    made.produced[entry.kind] += 1
    match entry.fate:
        case Fate.KEPT:
            made.kept[entry.kind][entry.id] = entry
            made.late[entry.kind] += entry.note == LATE
        case Fate.DUPLICATE:
            made.duplicates[entry.kind] += 1
        case Fate.BROKEN:
            made.broken[entry.kind][Place(entry.kind.value, entry.partition, entry.offset)] = entry


def _add_sales(made: Expected, categories: dict[str, str]) -> None:
    for order_id, payment in made.paid.items():
        if payment.id == CLOSING_PAYMENT:
            continue
        order = made.kept[Kind.ORDER][order_id]
        window = Window(payment.at_ms // WINDOW_MS * WINDOW_MS, categories[order.product])
        orders, units, cents = made.sales.get(window, (0, 0, 0))
        made.sales[window] = Totals(orders + 1, units + order.quantity, cents + payment.cents)


def _count(entries: Iterable[Entry], categories: dict[str, str], category: str) -> int:
    return sum(categories[each.product] == category for each in entries)
