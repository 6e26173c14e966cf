"""A process that has ended counts as gone even while its parent has not waited for it."""

import os
import signal
import subprocess

from odradek.spark.pipeline.process_ids import end_process, is_alive


def test_a_process_that_is_gone_is_not_waited_for() -> None:
    child = subprocess.Popen(["sleep", "600"])
    assert is_alive(child.pid)
    end_process(child.pid)  # a zombie until it is waited for
    assert not is_alive(child.pid)
    assert child.wait() == -signal.SIGKILL
    end_process(child.pid)


def test_no_process() -> None:
    assert not is_alive(0) and not is_alive(-1)
    assert is_alive(os.getpid()) and is_alive(1)
