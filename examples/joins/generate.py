"""Registers the schemas, writes the table of customers, and sends orders and payments in Avro, in rounds.

    python generate.py 1            orders, and payments of most of them; those of the last ones do not come yet
    python generate.py 2            the rest of the payments, some of them too late, and more orders

Payments of the first round are written with an older schema, without the method.
"""

import io
import json
import os
import sys
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
import pyarrow as pa
import pyarrow.parquet as parquet

from odradek.client import blocking

HERE = Path(__file__).parent
START = datetime(2026, 1, 31, 12, tzinfo=UTC)
COUNTRIES = ("AT", "CZ", "DE")
#: There are orders of one customer more than that.
CUSTOMERS = 20
ORDERS_IN_ROUND = 60

#: In the order in which they are registered: the newest of a subject last.
SUBJECTS = {
    "order.avsc": "orders-value",
    "payment_before.avsc": "payments-value",
    "payment.avsc": "payments-value",
    "paid_order.avsc": "paid-orders-value",
}


def customers() -> list[dict[str, Any]]:
    return [{"customer": number, "country": COUNTRIES[number % 3]} for number in range(CUSTOMERS)]


def orders(number: int) -> list[dict[str, Any]]:
    """Of a round: one every five seconds."""
    first = (number - 1) * ORDERS_IN_ROUND
    return [
        {
            "id": UUID(int=each),
            "customer": each % (CUSTOMERS + 1),
            "amount": Decimal(100 + each * 7) / 100,
            "ordered_at": START + timedelta(seconds=5 * each),
        }
        for each in range(first, first + ORDERS_IN_ROUND)
    ]


def payments(number: int) -> list[dict[str, Any]]:
    """Of a round. Every tenth order is never paid; every thirteenth too late."""
    first = (number - 1) * ORDERS_IN_ROUND
    last = first + ORDERS_IN_ROUND
    waiting = range(max(0, first - 10), last - 10 if number == 1 else last)
    return [
        {
            "order_id": UUID(int=each),
            "paid_at": START + timedelta(seconds=5 * each + (601 if each % 13 == 0 else 20 + each % 30)),
            "method": "CASH" if number == 2 and each % 4 == 0 else "CARD",
        }
        for each in waiting
        if each % 10
    ]


def messages(number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each with the schema that it is written with."""
    for order in orders(number):
        yield "order.avsc", order
    for payment in payments(number):
        yield "payment_before.avsc" if number == 1 else "payment.avsc", payment


def register(registry: str, subject: str, schema: str) -> int:
    """The id that the registry gives; a schema that it has already keeps its own."""
    body = json.dumps({"schema": (HERE / "schemas" / schema).read_text()}).encode()
    headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
    request = urllib.request.Request(f"{registry}/subjects/{subject}/versions", body, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return int(json.load(answer)["id"])


def encoded(schema_id: int, schema: str, row: dict[str, Any]) -> bytes:
    target = io.BytesIO()
    target.write(b"\0" + schema_id.to_bytes(4, "big"))
    fastavro.schemaless_writer(target, fastavro.schema.load_schema(str(HERE / "schemas" / schema)), row)
    return target.getvalue()


def main() -> None:
    bootstrap = os.environ.get("ODRADEK_BOOTSTRAP", "localhost:9092")
    registry = os.environ.get("SCHEMA_REGISTRY", "http://localhost:8081")
    place = Path(os.environ.get("CUSTOMERS", HERE / "customers.parquet"))
    parquet.write_table(pa.Table.from_pylist(customers()), place)
    ids = {schema: register(registry, subject, schema) for schema, subject in SUBJECTS.items()}
    sent = list(messages(int(sys.argv[1])))
    with blocking.Producer(bootstrap_servers=bootstrap) as producer:
        for schema, row in sent:
            producer.send(SUBJECTS[schema].removesuffix("-value"), encoded(ids[schema], schema, row))
        producer.flush()
    print(f"sent {len(sent)} orders and payments to {bootstrap}")


if __name__ == "__main__":
    main()
