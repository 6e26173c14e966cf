"""A steady load on a stream from topic to topic, and how long its records take: a process of its own.

python spark_load.py SERVERS SOURCE TARGET PARTITIONS RECORDS_PER_SECOND WARM_UP_S SECONDS ISOLATION_LEVEL

The value of a record begins with the time at which it was handed to the producer; the consumer of the target topic
subtracts it from the time at which it got the record. Records of the warm-up do not count. Prints the percentiles in
milliseconds, and how many records came, as JSON. Fails if one is missing or, for committed records, twice there.
"""

import json
import sys
import threading
import time
from collections.abc import Callable

from confluent_kafka import OFFSET_END, Consumer, Producer, TopicPartition

#: A stream that starts on a busy machine.
_TIMEOUT_S = 180
_VALUE_BYTES = 100
_TAKEN_AT_ONCE = 1_000
_PAUSE_S = 0.002


class Taker(threading.Thread):
    """Reads the target topic until it has seen all records."""

    def __init__(self, servers: str, topic: str, partitions: int, isolation_level: str, count: int) -> None:
        super().__init__(daemon=True)
        settings = {"bootstrap.servers": servers, "group.id": "load", "isolation.level": isolation_level}
        self._consumer = Consumer({**settings, "fetch.min.bytes": 1, "log_level": 0})
        self._consumer.assign([TopicPartition(topic, number, OFFSET_END) for number in range(partitions)])
        self._left = count
        #: By number of the record: when it was sent and when it was first seen.
        self.sent_s: dict[int, float] = {}
        self.seen_s: dict[int, float] = {}
        self.duplicates = 0
        self.is_warm = threading.Event()

    def run(self) -> None:
        while len(self.seen_s) < self._left:
            messages = self._consumer.consume(_TAKEN_AT_ONCE, 0.1)
            now_s = time.time()
            for message in messages:
                sent_text, _, rest = (message.value() or b"").partition(b" ")
                number = int(rest.partition(b" ")[0])
                if number < 0:
                    self.is_warm.set()
                    continue
                self.duplicates += number in self.seen_s
                self.sent_s[number] = float(sent_text)
                self.seen_s.setdefault(number, now_s)
        self._consumer.close()


def main(arguments: list[str]) -> None:
    servers, source, target, partitions, rate, warm_up_s, seconds, isolation_level = arguments
    per_second, warm_up = int(rate), int(float(warm_up_s) * int(rate))
    count = warm_up + int(float(seconds) * per_second)
    taker = Taker(servers, target, int(partitions), isolation_level, count)
    taker.start()
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 5, "log_level": 0})
    padding = b"." * _VALUE_BYTES

    def send(number: int) -> None:
        value = b"%.6f %d %s" % (time.time(), number, padding)
        producer.produce(source, value[:_VALUE_BYTES], key=b"%d" % number)

    _until_warm(taker, producer, send)
    started_s = time.monotonic()
    number = 0
    while number < count:
        due = min(count, int((time.monotonic() - started_s) * per_second) + 1)
        for each in range(number, due):
            send(each)
        number = due
        producer.poll(_PAUSE_S)
        time.sleep(_PAUSE_S)
    assert producer.flush(_TIMEOUT_S) == 0
    taker.join(_TIMEOUT_S)
    assert not taker.is_alive(), f"{count - len(taker.seen_s)} of {count} records did not come in {_TIMEOUT_S} s"
    waits_ms = sorted((taker.seen_s[each] - taker.sent_s[each]) * 1000 for each in range(warm_up, count))
    found = {f"p{percent}": waits_ms[min(len(waits_ms) - 1, len(waits_ms) * percent // 100)] for percent in (50, 99)}
    print(json.dumps({**found, "records": len(waits_ms), "duplicates": taker.duplicates}))


def _until_warm(taker: Taker, producer: Producer, send: Callable[[int], None]) -> None:
    """Until a record has gone through the stream."""
    deadline_s = time.monotonic() + _TIMEOUT_S
    while not taker.is_warm.wait(0.1):
        send(-1)
        producer.poll(0)
        assert time.monotonic() < deadline_s, f"nothing came through the stream in {_TIMEOUT_S} s"


if __name__ == "__main__":
    main(sys.argv[1:])
