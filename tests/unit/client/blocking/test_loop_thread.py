"""The loop that blocking clients share: calls from threads, callbacks in the caller, the end of the process."""

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from odradek.client.blocking.loop_thread import in_caller, shared_loop
from odradek.common.failures import InputError

PATIENCE_S = 60


def test_a_call_gives_what_the_coroutine_gives_or_raises() -> None:
    async def give() -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    async def fail() -> None:
        raise KeyError("x")

    assert shared_loop().call(give()) == "odradek-clients"
    with pytest.raises(KeyError):
        shared_loop().call(fail())
    assert shared_loop().do(lambda: threading.current_thread().name) == "odradek-clients"


def test_calls_of_many_threads_go_on_beside_each_other() -> None:
    together = asyncio.Event()
    arrived: list[int] = []

    async def meet(number: int) -> int:
        arrived.append(number)
        if len(arrived) == 8:
            together.set()
        await asyncio.wait_for(together.wait(), PATIENCE_S)
        return number

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda number: shared_loop().call(meet(number)), range(8))) == list(range(8))


def test_what_a_task_asks_for_is_done_in_the_thread_that_waits_and_may_call_again() -> None:
    loop = shared_loop()
    me = threading.current_thread()

    def do() -> str:
        assert threading.current_thread() is me
        return loop.do(lambda: "from the loop, while the first call waits")

    async def ask() -> str:
        value: str = await in_caller(do)
        return value

    assert loop.call(ask()) == "from the loop, while the first call waits"

    async def ask_in_vain() -> None:
        await in_caller(lambda: [][1])

    with pytest.raises(IndexError):
        loop.call(ask_in_vain())

    async def later() -> int:
        return 7

    async def ask_for_a_coroutine() -> int:
        value: int = await in_caller(later)
        return value

    assert loop.call(ask_for_a_coroutine()) == 7


def test_what_a_task_of_its_own_asks_for_is_done_in_some_other_thread() -> None:
    async def alone() -> str:
        name: str = await in_caller(lambda: threading.current_thread().name)
        return name

    done = asyncio.run_coroutine_threadsafe(alone(), shared_loop().loop)
    assert done.result(PATIENCE_S) != "odradek-clients"


def test_the_loops_own_thread_may_not_wait_for_itself() -> None:
    async def other() -> None: ...

    def wait() -> None:
        shared_loop().call(other())

    with pytest.raises(InputError, match="a callback must not wait for its own client"):
        shared_loop().do(wait)


def test_an_interrupted_thread_takes_its_coroutine_with_it() -> None:
    cancelled = threading.Event()

    async def hang() -> None:
        try:
            await in_caller(interrupt)
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shared_loop().call(hang())
    assert cancelled.wait(PATIENCE_S)


FORK = """
import os
from odradek.client.blocking.loop_thread import shared_loop
from odradek.common.failures import InputError
parent = shared_loop()
assert parent.do(lambda: 1) == 1
child = os.fork()
if not child:
    try:
        parent.do(lambda: 2)
    except InputError as error:
        print(error, flush=True)
    print(shared_loop().do(lambda: 3), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(parent.do(lambda: 4))
"""

EXIT = """
from odradek.client.blocking.loop_thread import shared_loop
class Client:
    def close_at_exit(self):
        loop.do(lambda: print("closed in the loop", flush=True))
loop = shared_loop()
loop.open.add(Client())  # that nobody else has
print("the program ends")
"""


def said_by(script: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
        env={**os.environ},
    )
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()


def test_a_forked_child_says_whose_client_it_is_and_makes_its_own() -> None:
    assert said_by(FORK) == ["the client belongs to the parent process; make another one after the fork", "3", "4"]


def test_what_is_open_is_closed_when_the_interpreter_ends() -> None:
    assert said_by(EXIT) == ["the program ends", "closed in the loop"]
