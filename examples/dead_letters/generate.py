"""Sends events of three partners, in JSON, CSV and Protobuf, in rounds; some twice, some broken.

python generate.py 1
python generate.py 2            some of the first round again, too
"""

import json
import os
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from odradek.client import blocking

HERE = Path(__file__).parent
START = datetime(2026, 1, 31, 12, tzinfo=UTC)
EVENTS_IN_ROUND = 90
COUPONS = ("", "SAVE-10", "SAVE-50", "SAVE-90", "FREE")

#: By partner: what is no event, each in a way of its own.
BROKEN = {
    "json": [
        b'{"id":"x","cents":1',
        b'{"id":"x","cents":1,"at":"2026-01-31T12:00:00Z"} and more',
        b'{"id":"x","cents":"1","at":"2026-01-31T12:00:00Z"}',
        b'{"cents":1,"at":"2026-01-31T12:00:00Z"}',
        b'{"id":"x","cents":1,"at":"2026-01-31T12:00:00Z","colour":"red"}',
        b"\xff",
        None,
    ],
    "csv": [b"x;;1", b"x;;one;2026-01-31T12:00:00Z", b'"x;;1;2026-01-31T12:00:00Z', b";;1;2026-01-31T12:00:00Z"],
    "protobuf": [b"\x0a\x05x", b"\x0a\x01x\x50\x01"],
}


@dataclass(frozen=True)
class Event:
    number: int
    coupon: str
    cents: int
    at: datetime

    @property
    def id(self) -> str:
        return f"event-{self.number}"

    @property
    def partner(self) -> str:
        return tuple(BROKEN)[self.number % 3]


def event(number: int) -> Event:
    return Event(number, COUPONS[number % 5], 1_000 + number, START + timedelta(seconds=number))


def events(number: int) -> list[Event]:
    """Of a round, in the order in which they are sent; some are sent twice."""
    first = (number - 1) * EVENTS_IN_ROUND
    found = [event(each) for each in range(first, first + EVENTS_IN_ROUND)]
    again = [each for each in found if each.number % 7 == 0]
    before = [event(each) for each in range(max(0, first - 20), first)]
    return [*before, *found, *again]


def event_class() -> type:
    found = descriptor_pb2.FileDescriptorSet.FromString((HERE / "shop.desc").read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in found.file:
        pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Event"))


def encoded(event: Event) -> bytes:
    at = event.at.isoformat()
    if event.partner == "json":
        return json.dumps({"id": event.id, "coupon": event.coupon, "cents": event.cents, "at": at}).encode()
    if event.partner == "csv":
        return f'"{event.id}";{event.coupon};{event.cents};{at}\n'.encode()
    made = event_class()(id=event.id, coupon=event.coupon, cents=event.cents)
    made.at.FromDatetime(event.at)
    return bytes(made.SerializeToString())


def main() -> None:
    bootstrap = os.environ.get("ODRADEK_BOOTSTRAP", "localhost:9092")
    number = int(sys.argv[1])
    sent = [(each.partner, encoded(each), each.id.encode()) for each in events(number)]
    sent += [(partner, value, None) for partner, values in BROKEN.items() for value in values]
    with blocking.Producer(bootstrap_servers=bootstrap) as producer:
        for partner, value, key in sent:
            producer.send(f"events-{partner}", value, key=key, headers=[("sent-by", partner.encode())])
        producer.flush()
    print(f"sent {len(sent)} records to {bootstrap}")


if __name__ == "__main__":
    main()
