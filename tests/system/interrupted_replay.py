"""A command of `odradek` that sends itself a signal at a call of its producer.

python -m system.interrupted_replay METHOD CALL MOMENT SIGNAL -- WORDS OF THE COMMAND...

MOMENT is `before` or `after` the CALL-th call of METHOD, or how many milliseconds after the call began.
"""

import asyncio
import os
import signal
import sys
from typing import Any

from odradek.cli.app import run
from odradek.client.producer.producer import Producer


def interrupt_at(method: str, number: int, moment: str, name: str) -> None:
    original = getattr(Producer, method)
    calls = 0

    def send_signal() -> None:
        os.kill(os.getpid(), signal.Signals[name])

    async def interrupted(self: Producer, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        is_it = calls == number
        if is_it and moment == "before":
            send_signal()
        elif is_it and moment != "after":
            asyncio.get_running_loop().call_later(float(moment) / 1000, send_signal)
        result = await original(self, *arguments)
        if is_it and moment == "after":
            send_signal()
        return result

    setattr(Producer, method, interrupted)


def main() -> int:
    end = sys.argv.index("--")
    method, number, moment, name = sys.argv[1:end]
    interrupt_at(method, int(number), moment, name)
    return run(sys.argv[end + 1 :])


if __name__ == "__main__":
    sys.exit(main())
