"""Sends readings of three sensors to the topic `readings`, in rounds.

    python generate.py 1            the first five minutes of a day
    python generate.py 2            the next five, and a few readings of the first round that come late
    python generate.py 3            one reading an hour later, which ends all minutes before

Of the late ones in round 2, those of the last minute are still waited for; the others come too late.
"""

import json
import os
import sys
from datetime import UTC, datetime, timedelta

from odradek.client import blocking

START = datetime(2026, 1, 31, 12, tzinfo=UTC)
SENSORS = ("cellar", "kitchen", "roof")
ROUND_S, STEP_S = 300, 5
#: Seconds from the start: of the first minute, of the third, and of the last one before round 2.
LATE_S = (7, 31, 130, 282, 299)


def reading(sensor: str, second: int) -> dict[str, object]:
    at = START + timedelta(seconds=second)
    celsius = 15 + 5 * SENSORS.index(sensor) + second % 7 / 10
    return {"sensor": sensor, "at": at.isoformat(), "celsius": round(celsius, 1)}


def readings(number: int) -> list[dict[str, object]]:
    """Of a round, in the order in which they are sent."""
    if number == 3:
        return [reading("roof", 3_600)]
    first = (number - 1) * ROUND_S
    late = [reading("kitchen", second) for second in LATE_S] if number == 2 else []
    return late + [reading(sensor, second) for second in range(first, first + ROUND_S, STEP_S) for sensor in SENSORS]


def main() -> None:
    bootstrap = os.environ.get("ODRADEK_BOOTSTRAP", "localhost:9092")
    sent = readings(int(sys.argv[1]))
    with blocking.Producer(bootstrap_servers=bootstrap) as producer:
        for each in sent:
            producer.send("readings", json.dumps(each).encode(), key=str(each["sensor"]).encode())
        producer.flush()
    print(f"sent {len(sent)} readings to {bootstrap}")


if __name__ == "__main__":
    main()
