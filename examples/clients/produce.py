"""Produce orders: a plain producer.

    odradek up                                            # in another terminal
    odradek topics create orders --partitions 3
    python produce.py 10

The brokers are those of ODRADEK_BOOTSTRAP, by default localhost:9092.
"""

import asyncio
import json
import os
import sys

from odradek.client import Delivery, Producer

BOOTSTRAP = os.environ.get("ODRADEK_BOOTSTRAP", "localhost:9092")
CUSTOMERS = ("anna", "ben", "cleo")


async def main(count: int) -> None:
    async with Producer(bootstrap_servers=BOOTSTRAP, acks="all", linger_ms=5) as producer:
        deliveries: list[Delivery] = []
        for number in range(count):
            customer = CUSTOMERS[number % len(CUSTOMERS)]
            order = json.dumps({"number": number, "customer": customer}).encode()
            # send waits only for space in the buffer; records with the same key go to the same partition
            deliveries.append(await producer.send("orders", order, key=customer.encode()))
        # a delivery that failed raises its error here
        for metadata in await asyncio.gather(*deliveries):
            print(f"{metadata.topic}-{metadata.partition} offset {metadata.offset}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
