"""The services that system tests run as processes, and how their messages fail.

`odradek service run support.service.shop:app` with the directory of its database in SHOP_DIRECTORY. Effects are rows
of SQLite, written with the mark that the message is done, so that each message's effect happens exactly once; each run
of the handler is a line in a file beside it, whatever becomes of the run.
"""

import os
import sqlite3
from pathlib import Path

from odradek.service import Context, Retries, Send, Service, SqliteDone
from support.service.orders import always_fails, fails_once

DIRECTORY = Path(os.environ["SHOP_DIRECTORY"])
DATABASE = DIRECTORY / "effects.db"
RUNS = DIRECTORY / "runs"

_runs = os.open(RUNS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


def maybe_fail(number: int, attempt: int) -> None:
    os.write(_runs, b"%d\n" % number)
    if always_fails(number) or (fails_once(number) and attempt == 1):
        raise LookupError(f"customer of order {number} is not there")


done = SqliteDone(str(DATABASE))
with sqlite3.connect(DATABASE) as _connection:
    _connection.execute("CREATE TABLE IF NOT EXISTS effects (number INTEGER)")
_connection.close()

# A static member: who comes back after a crash need not wait until the group has given up the dead one.
app = Service("shop", done=done, consumer={"group.instance.id": "shop-1"}, commit_interval_ms=200, drain_limit_s=60)


@app.handler("orders", retries=Retries(in_place=0, topics=["500ms"]), concurrency=16, time_limit_s=60)
def handle(order: dict[str, int], context: Context) -> None:
    number = order["number"]
    maybe_fail(number, context.attempt)
    with context.effects() as connection:
        connection.execute("INSERT INTO effects VALUES (?)", (number,))


doubling = Service(
    "doubling",
    exactly_once=True,
    transactional_id="doubling-1",
    consumer={"group.instance.id": "doubling-1"},
    batch_records=100,
)


@doubling.handler("numbers", retries=Retries(in_place=0, topics=["500ms"]), concurrency=16)
async def double(order: dict[str, int], context: Context) -> Send:
    number = order["number"]
    maybe_fail(number, context.attempt)
    return Send("doubled", {"number": 2 * number}, key=context.key)
