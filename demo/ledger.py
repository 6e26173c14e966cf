"""The generator's own book: each event that the cluster has acknowledged, and where. A line of JSON each."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.events import Event, Fate, Kind


@dataclass(frozen=True, slots=True)
class Entry:
    kind: Kind
    id: str
    fate: Fate
    note: str
    #: When it happened by its own account, when it was sent, and when that was acknowledged; since 1970.
    at_ms: int
    sent_ms: int
    acked_ms: int
    partition: int
    offset: int
    order: str
    product: str
    quantity: int
    cents: int


def line_of(event: Event, opened_ms: int, sent_ms: int, acked_ms: int, partition: int, offset: int) -> str:
    entry: tuple[Any, ...] = (
        *(event.kind.value, event.id, event.fate.value, event.note),
        *(opened_ms + event.at_ms, sent_ms, acked_ms, partition, offset),
        *(event.order, event.product, event.quantity, event.cents),
    )
    return json.dumps(entry, separators=(",", ":")) + "\n"


def read_ledger(path: Path) -> Iterator[Entry]:
    with path.open() as lines:
        for line in lines:
            kind, name, fate, *rest = json.loads(line)
            yield Entry(Kind(kind), name, Fate(fate), *rest)
