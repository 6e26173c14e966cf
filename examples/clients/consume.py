"""Consume orders as a member of the group `billing`: a plain consumer that commits what it has processed.

    python consume.py         # runs until Ctrl-C; start it twice, and the two share the partitions
    python consume.py 10      # stops after ten records

The brokers are those of ODRADEK_BOOTSTRAP, by default localhost:9092.
"""

import json
import os
import sys

from odradek.client import blocking

BOOTSTRAP = os.environ.get("ODRADEK_BOOTSTRAP", "localhost:9092")


def main(limit: int | None) -> None:
    consumer = blocking.Consumer(
        "orders",
        bootstrap_servers=BOOTSTRAP,
        group_id="billing",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    consumed = 0
    with consumer:
        while limit is None or consumed < limit:
            records = consumer.poll(timeout_ms=1_000, max_records=None if limit is None else limit - consumed)
            for record in records:
                order = json.loads(record.value)
                where = f"{record.topic}-{record.partition} offset {record.offset}"
                print(f"{where}: {order['customer']} {order['number']}")
            if records:
                consumer.commit()  # only after processing: after a crash, uncommitted records are read again
            consumed += len(records)


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else None)
    except KeyboardInterrupt:
        sys.exit(130)
