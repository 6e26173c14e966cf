"""Whether every event is where it belongs, once: what must be there beside what was found. Pure."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from demo.events import Kind
from demo.expected import Expected, Interest, Place, Totals, Window


@dataclass(frozen=True, slots=True)
class Sale:
    """A record of the topic of sales."""

    window: Window
    totals: Totals


@dataclass(frozen=True, slots=True)
class Paid:
    """A row of the table of paid orders."""

    order: str
    cents: int


@dataclass(frozen=True, slots=True)
class Found:
    #: Records in the topics.
    records: Mapping[Kind, int]
    #: Ids in the tables, as often as they are there.
    tables: Mapping[Kind, Sequence[str]]
    #: Where the dead letters come from.
    dead_letters: Sequence[Place]
    paid: Sequence[Paid]
    sales: Sequence[Sale]
    conversion: Mapping[str, Interest]


@dataclass(frozen=True, slots=True)
class Check:
    what: str
    expected: int
    found: int

    @property
    def is_met(self) -> bool:
        return self.expected == self.found


@dataclass(frozen=True, slots=True)
class Balance:
    """Of a kind of events: produced = in the table + duplicates dropped + dead letters."""

    kind: Kind
    produced: int
    in_table: int
    duplicates: int
    dead_letters: int
    #: Of those in the table.
    late: int


def balances(expected: Expected, found: Found) -> list[Balance]:
    dead = Counter(place.topic for place in found.dead_letters)
    return [
        Balance(
            kind,
            expected.produced[kind],
            len(found.tables[kind]),
            expected.duplicates[kind],
            dead[kind.value],
            expected.late[kind],
        )
        for kind in Kind
    ]


def account(expected: Expected, found: Found) -> list[Check]:
    checks = []
    for balance in balances(expected, found):
        kind = balance.kind
        sum_of = balance.in_table + balance.duplicates + balance.dead_letters
        checks += [
            Check(f"{kind}: records in the topic, as many as were acknowledged", balance.produced, found.records[kind]),
            Check(f"{kind}: in the table + duplicates dropped + dead letters", balance.produced, sum_of),
            *_each_once(f"{kind} in the table", expected.kept[kind], found.tables[kind]),
            *_each_once(
                f"{kind} among the dead letters",
                expected.broken[kind],
                [place for place in found.dead_letters if place.topic == kind.value],
            ),
        ]
    checks += _each_once("paid orders in their table", expected.paid, [each.order for each in found.paid])
    wrong = [
        each for each in found.paid if each.order in expected.paid and expected.paid[each.order].cents != each.cents
    ]
    checks.append(Check("paid orders with a wrong amount", 0, len(wrong)))
    checks += _each_once("windows of sales in their topic", expected.sales, [each.window for each in found.sales])
    wrong_sales = [each for each in found.sales if expected.sales.get(each.window, each.totals) != each.totals]
    checks.append(Check("windows of sales with wrong totals", 0, len(wrong_sales)))
    wrong_interest = [name for name, each in expected.conversion.items() if found.conversion.get(name) != each]
    checks.append(Check("categories with wrong counts in the table of conversion", 0, len(wrong_interest)))
    return checks


def _each_once(what: str, expected: Iterable[Hashable], found: Sequence[Hashable]) -> list[Check]:
    wanted, counts = set(expected), Counter(found)
    return [
        Check(f"{what}: missing", 0, len(wanted - counts.keys())),
        Check(f"{what}: doubled", 0, sum(count - 1 for count in counts.values())),
        Check(f"{what}: not expected", 0, len(counts.keys() - wanted)),
    ]
