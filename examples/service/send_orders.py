"""Sends some orders: most can be paid at once, one only after a while, one never, and one is no order at all."""

import asyncio
import json
import os

from odradek.client import Producer

ORDERS = [
    {"number": 1, "customer": "ada", "amount": 9.5},
    {"number": 2, "customer": "grace", "amount": 120},
    {"number": 3, "customer": "unlucky", "amount": 7},
    {"number": 4, "customer": "ada", "amount": 0},
]


async def main() -> None:
    bootstrap = os.environ.get("ODRADEK_BOOTSTRAP", "localhost:9092")
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for order in ORDERS:
            await producer.send("orders", json.dumps(order).encode(), key=str(order["customer"]).encode())
        await producer.send("orders", b"no order at all")
        await producer.flush()
    print(f"sent {len(ORDERS) + 1} messages to orders at {bootstrap}")


if __name__ == "__main__":
    asyncio.run(main())
