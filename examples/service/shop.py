r"""A service that takes payments for orders.

Orders are JSON in the topic `orders`. Each is charged, and a receipt goes to `receipts`. A bank that does not answer is
tried again, first at once, then after two seconds by way of a retry topic. What can never succeed goes to the dead
letters, `orders.dead`, with the reason in its headers.

    odradek up                                            # in another terminal
    odradek topics create orders receipts --partitions 3
    odradek service run shop:app                          # in this directory
    python send_orders.py                                 # in a third one
    odradek consume receipts -n 3
    odradek consume orders.dead --until-end -f '%s: %h\n'
"""

from dataclasses import dataclass

from odradek.service import Context, MemoryDone, Reject, Retries, Send, Service


@dataclass
class Order:
    number: int
    customer: str
    amount: float


@dataclass
class Receipt:
    order: int
    paid: float
    attempts: int


class BankIsBusy(Exception):
    """It will answer some other time."""


app = Service("shop", done=MemoryDone())


@app.handler(
    "orders",
    retries=Retries(in_place=1, backoff_ms=50, topics=["2s"]),
    concurrency=16,
    time_limit_s=10,
)
async def charge(order: Order, context: Context) -> Send:
    if order.amount <= 0:
        raise Reject(f"order {order.number} has nothing to pay")
    if order.customer == "unlucky" and context.attempt < 3:
        raise BankIsBusy("call again")
    return Send("receipts", Receipt(order.number, order.amount, context.attempt), key=order.customer)
