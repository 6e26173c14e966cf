"""Books of a shop that was open for a while, and what a pipeline without faults would make of them."""

from itertools import takewhile

from demo.accounting import Found, Paid, Sale
from demo.events import closing, events
from demo.expected import Expected
from demo.ledger import Entry

OPENED_MS = 1_700_000_000_000
_AHEAD_MS = 600_000


def book_of(seconds: int, *, rate: float = 400.0, seed: int = 1) -> list[Entry]:
    """As if every event had been acknowledged a millisecond after it was due, all in one partition."""
    end_ms = seconds * 1_000
    made = [*takewhile(lambda event: event.due_ms < end_ms, events(seed, rate)), *closing(end_ms, end_ms + _AHEAD_MS)]
    return [
        Entry(
            *(event.kind, event.id, event.fate, event.note, OPENED_MS + event.at_ms),
            *(OPENED_MS + event.due_ms, OPENED_MS + event.due_ms + 1, 0, offset),
            *(event.order, event.product, event.quantity, event.cents),
        )
        for offset, event in enumerate(made)
    ]


def found_of(expected: Expected) -> Found:
    """Everything in its place."""
    return Found(
        records=dict(expected.produced),
        tables={kind: list(kept) for kind, kept in expected.kept.items()},
        dead_letters=[place for broken in expected.broken.values() for place in broken],
        paid=[Paid(order, payment.cents) for order, payment in expected.paid.items()],
        sales=[Sale(window, totals) for window, totals in expected.sales.items()],
        conversion=dict(expected.conversion),
    )
