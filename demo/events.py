"""A shop's events, made up by a seed: orders, their payments, clicks; some twice, some late, some broken. Pure.

Time here is virtual, in milliseconds since the shop opened; whoever sends the events says when that was. The same seed
makes the same events at the same times, so that a run can be repeated. Each event says what must become of it:

| fate | what it is | where it must end |
| --- | --- | --- |
| kept | right, and at most `LATE_MAX_MS` old when it is sent | in the table of its kind, once |
| duplicate | the same bytes as one that was kept, sent up to `AGAIN_MAX_MS` later | nowhere |
| broken | no JSON, a field missing, of a wrong type or impossible, or older than `TOO_LATE_MS` | dead letters, once |
"""

import csv
import heapq
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count
from pathlib import Path
from random import Random

PRODUCTS_FILE = Path(__file__).parent / "pipeline" / "products.csv"


class Kind(StrEnum):
    ORDER = "orders"
    PAYMENT = "payments"
    CLICK = "clicks"


class Fate(StrEnum):
    KEPT = "kept"
    DUPLICATE = "duplicate"
    BROKEN = "broken"


#: What can be wrong with an event.
CUT, NO_JSON, MISSING, WRONG_TYPE, IMPOSSIBLE, TOO_LATE = (
    *("cut short", "no JSON", "a field missing", "a wrong type"),
    *("an impossible value", "too late"),
)
_FAULTS = (CUT, NO_JSON, MISSING, WRONG_TYPE, IMPOSSIBLE, TOO_LATE)

LATE = "late"

CLOSING_ORDER, CLOSING_PAYMENT = "o-closing", "p-closing"

#: An event is sent so long after it happened at the most, and counts as any other.
LATE_MAX_MS = 10_000
#: From here on it is a dead letter. The pipeline draws the line between the two.
TOO_LATE_MS = 120_000
AGAIN_MAX_MS = 6_000
PAID_WITHIN_MS = 4_000

_ORDER_SHARE = 0.3  # of what customers do; the rest are clicks
_PAID_SHARE = 0.93
_AGAIN_SHARE = 0.03
_BROKEN_SHARE = 0.02
_LATE_SHARE = 0.05
#: Events for each thing that a customer does.
_EVENTS_EACH = (1 + _ORDER_SHARE * _PAID_SHARE) * (1 + _AGAIN_SHARE * (1 - _BROKEN_SHARE))

_CUSTOMERS = 5_000
_METHODS = ("card", "invoice", "cash")
_PAGES = ("front", "search", "product", "basket")


@dataclass(frozen=True, slots=True)
class Product:
    product: str
    category: str
    price_cents: int


@dataclass(frozen=True, slots=True)
class Event:
    kind: Kind
    id: str
    key: str
    fate: Fate
    #: What is wrong with it, or `LATE`, or nothing.
    note: str
    due_ms: int
    #: When it happened, as it says itself.
    at_ms: int
    order: str = ""
    product: str = ""
    quantity: int = 0
    cents: int = 0
    page: str = ""
    method: str = ""


def read_products(path: Path = PRODUCTS_FILE) -> list[Product]:
    with path.open(newline="") as lines:
        return [Product(row["product"], row["category"], int(row["price_cents"])) for row in csv.DictReader(lines)]


def events(seed: int, rate: float) -> Iterator[Event]:
    """Without end, in the order in which they are due, about `rate` of them in a second."""
    return _Shop(seed, rate).events()


def closing(due_ms: int, at_ms: int) -> list[Event]:
    """An order and its payment that lie so far ahead that every window before them is over."""
    product = read_products()[0]
    order = Event(
        *(Kind.ORDER, CLOSING_ORDER, CLOSING_ORDER, Fate.KEPT, "", due_ms, at_ms),
        product=product.product,
        quantity=1,
        cents=product.price_cents,
    )
    return [order, _payment(order, CLOSING_PAYMENT, due_ms, at_ms)]


def value_of(event: Event, opened_ms: int) -> bytes:
    """As it is sent. `opened_ms` is when the shop opened, since 1970."""
    fields = _fields(event, opened_ms + event.at_ms)
    if event.note == MISSING:
        del fields["product" if "product" in fields else "order"]
    elif event.note == WRONG_TYPE:
        fields["customer" if "customer" in fields else "cents"] = "several"
    elif event.note == IMPOSSIBLE:
        fields["customer" if event.kind is Kind.CLICK else "cents"] = -1
    text = json.dumps(fields, separators=(",", ":"))
    if event.note == CUT:
        text = text[: len(text) // 2]
    elif event.note == NO_JSON:
        text = f"{event.kind.value} of {event.key}, see below"
    return text.encode()


def _fields(event: Event, at_ms: int) -> dict[str, object]:
    customer = 1 + hash_of(event.key) % _CUSTOMERS
    match event.kind:
        case Kind.ORDER:
            return {
                "id": event.id,
                "customer": customer,
                "product": event.product,
                "quantity": event.quantity,
                "cents": event.cents,
                "at_ms": at_ms,
            }
        case Kind.PAYMENT:
            return {
                "id": event.id,
                "order": event.order,
                "cents": event.cents,
                "method": event.method,
                "at_ms": at_ms,
            }
        case Kind.CLICK:
            return {
                "id": event.id,
                "customer": customer,
                "product": event.product,
                "page": event.page,
                "at_ms": at_ms,
            }


def hash_of(key: str) -> int:
    """The same in every process, unlike Python's own."""
    return int.from_bytes(key.encode(), "little") * 2_654_435_761 >> 7


def _payment(order: Event, payment_id: str, due_ms: int, at_ms: int) -> Event:
    return replace(
        order,
        kind=Kind.PAYMENT,
        id=payment_id,
        fate=Fate.KEPT,
        note="",
        due_ms=due_ms,
        at_ms=at_ms,
        order=order.id,
        product="",
        quantity=0,
        method=_METHODS[hash_of(payment_id) % len(_METHODS)],
    )


class _Shop:
    def __init__(self, seed: int, rate: float) -> None:
        self._random = Random(seed)
        self._gap_ms = 1_000 * _EVENTS_EACH / rate
        self._products = read_products()
        #: What follows from earlier events: payments and duplicates, by when they are due.
        self._later: list[tuple[int, int, Event]] = []
        self._numbers = count()

    def events(self) -> Iterator[Event]:
        for step in count():
            now_ms = int(step * self._gap_ms)
            while self._later and self._later[0][0] <= now_ms:
                yield from self._passed_on(heapq.heappop(self._later)[2])
            yield from self._passed_on(self._act(now_ms))

    def _act(self, now_ms: int) -> Event:
        """Of a customer: an order, or a click."""
        number, product = next(self._numbers), self._random.choice(self._products)
        if self._random.random() >= _ORDER_SHARE:
            page = self._random.choice(_PAGES)
            visitor = f"v-{self._random.randrange(_CUSTOMERS)}"
            return self._marred(
                Event(
                    Kind.CLICK,
                    f"c-{number}",
                    visitor,
                    Fate.KEPT,
                    "",
                    now_ms,
                    now_ms,
                    product=product.product,
                    page=page,
                )
            )
        quantity, order = self._random.randint(1, 5), f"o-{number}"
        made = Event(
            *(Kind.ORDER, order, order, Fate.KEPT, "", now_ms, now_ms),
            product=product.product,
            quantity=quantity,
            cents=quantity * product.price_cents,
        )
        if self._random.random() < _PAID_SHARE:
            paid_ms = now_ms + self._random.randint(200, PAID_WITHIN_MS)
            self._put_off(_payment(made, f"p-{number}", paid_ms, paid_ms))
        return self._marred(made)

    def _passed_on(self, event: Event) -> Iterator[Event]:
        """And once more later, sometimes."""
        marred = self._marred(event) if event.kind is Kind.PAYMENT and event.fate is Fate.KEPT else event
        yield marred
        if marred.fate is Fate.KEPT and self._random.random() < _AGAIN_SHARE:
            again_ms = marred.due_ms + self._random.randint(100, AGAIN_MAX_MS)
            self._put_off(replace(marred, fate=Fate.DUPLICATE, due_ms=again_ms))

    def _marred(self, event: Event) -> Event:
        """Broken, late, or as it was."""
        drawn = self._random.random()
        if drawn < _BROKEN_SHARE:
            note = self._random.choice(_FAULTS)
            age_ms = TOO_LATE_MS + self._random.randint(60_000, 600_000) if note == TOO_LATE else 0
            return replace(event, fate=Fate.BROKEN, note=note, at_ms=event.at_ms - age_ms)
        if drawn < _BROKEN_SHARE + _LATE_SHARE:
            return replace(event, note=LATE, at_ms=event.at_ms - self._random.randint(1_000, LATE_MAX_MS))
        return event

    def _put_off(self, event: Event) -> None:
        heapq.heappush(self._later, (event.due_ms, next(self._numbers), event))
