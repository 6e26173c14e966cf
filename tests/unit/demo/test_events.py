"""The shop's events: by a seed, at a rate, and each what it says that it is."""

import json
from collections import Counter
from itertools import pairwise, takewhile

import pytest

from demo.events import (
    AGAIN_MAX_MS,
    CUT,
    IMPOSSIBLE,
    LATE,
    LATE_MAX_MS,
    MISSING,
    NO_JSON,
    PAID_WITHIN_MS,
    TOO_LATE,
    TOO_LATE_MS,
    WRONG_TYPE,
    Event,
    Fate,
    Kind,
    events,
    read_products,
    value_of,
)

RATE = 1_000.0
SECONDS = 30
OPENED_MS = 1_700_000_000_000

FIELDS = {
    Kind.ORDER: {"id": str, "customer": int, "product": str, "quantity": int, "cents": int, "at_ms": int},
    Kind.PAYMENT: {"id": str, "order": str, "cents": int, "method": str, "at_ms": int},
    Kind.CLICK: {"id": str, "customer": int, "product": str, "page": str, "at_ms": int},
}


def made(seed: int = 3) -> list[Event]:
    return list(takewhile(lambda event: event.due_ms < 1_000 * SECONDS, events(seed, RATE)))


MADE = made()


def test_the_same_seed_makes_the_same_events() -> None:
    assert made() == MADE
    assert made(seed=4) != MADE


def test_events_come_in_order_and_at_the_rate() -> None:
    due = [event.due_ms for event in MADE if event.due_ms > AGAIN_MAX_MS]  # by then what follows from others comes too
    rate = 1_000 * len(due) / (1_000 * SECONDS - AGAIN_MAX_MS)
    assert abs(rate - RATE) < 0.03 * RATE
    steps = [later.due_ms - before.due_ms for before, later in pairwise(MADE)]
    assert min(steps) >= -2  # what was put off waits for the next thing that a customer does


def test_an_id_is_given_to_one_event_and_its_duplicates() -> None:
    first = [event.id for event in MADE if event.fate is not Fate.DUPLICATE]
    assert len(first) == len(set(first))
    kept = {event.id: event for event in MADE if event.fate is Fate.KEPT}
    again = [event for event in MADE if event.fate is Fate.DUPLICATE]
    assert len(again) > 100
    for event in again:
        assert value_of(event, OPENED_MS) == value_of(kept[event.id], OPENED_MS)
        assert 0 < event.due_ms - kept[event.id].due_ms <= AGAIN_MAX_MS


def test_payments_follow_their_orders() -> None:
    orders = {event.id: event for event in MADE if event.kind is Kind.ORDER and event.fate is not Fate.DUPLICATE}
    payments = [event for event in MADE if event.kind is Kind.PAYMENT and event.fate is not Fate.DUPLICATE]
    assert len(payments) > 0.7 * len(orders)
    for payment in payments:
        order = orders[payment.order]
        assert payment.cents == order.cents and payment.key == order.key
        assert 0 < payment.due_ms - order.due_ms <= PAID_WITHIN_MS


def test_what_is_kept_is_right_and_not_too_old() -> None:
    products = {each.product for each in read_products()}
    late = 0
    for event in MADE:
        if event.fate is Fate.BROKEN:
            continue
        value = json.loads(value_of(event, OPENED_MS))
        assert {name: type(each) for name, each in value.items()} == FIELDS[event.kind]
        assert value.get("product", "tea-01") in products
        assert value.get("quantity", 1) > 0 and value.get("cents", 0) >= 0 and value.get("customer", 1) > 0
        age_ms = event.due_ms + OPENED_MS - value["at_ms"]
        assert age_ms <= LATE_MAX_MS + AGAIN_MAX_MS
        assert (age_ms >= 1_000) == (event.note == LATE) or event.fate is Fate.DUPLICATE
        late += event.note == LATE
    assert late > 500


@pytest.mark.parametrize("note", [CUT, NO_JSON, MISSING, WRONG_TYPE, IMPOSSIBLE, TOO_LATE])
@pytest.mark.parametrize("kind", Kind)
def test_what_is_broken_is_broken_as_it_says(kind: Kind, note: str) -> None:
    broken = next(event for event in events(5, RATE) if event.kind is kind and event.note == note)
    assert broken.fate is Fate.BROKEN
    text = value_of(broken, OPENED_MS)
    if note in (CUT, NO_JSON):
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)
        return
    value = json.loads(text)
    types = {name: type(each) for name, each in value.items()}
    if note == MISSING:
        assert len(types) == len(FIELDS[kind]) - 1
    elif note == WRONG_TYPE:
        assert types.keys() == FIELDS[kind].keys() and types != FIELDS[kind]
    elif note == IMPOSSIBLE:
        assert types == FIELDS[kind] and -1 in value.values()
    else:
        assert OPENED_MS + broken.due_ms - value["at_ms"] > TOO_LATE_MS + LATE_MAX_MS


def test_there_is_some_of_everything() -> None:
    counts = Counter((event.kind, event.fate) for event in MADE)
    assert all(counts[kind, fate] > 20 for kind in Kind for fate in Fate)
