"""What a node's process does with the memory of buffers that it no longer needs."""

import subprocess
import sys

#: Prints how many pages the system had to hand out for eight megabytes, taken and freed twenty times over.
_PAGES = """
import resource
from odradek.server.process.memory import keep_freed_memory
keep_freed_memory()
def pages():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def use(count):
    for _ in range(count):
        [bytearray(1_000_000) for _ in range(8)]
use(3)
before = pages()
use(20)
print(pages() - before)
"""


def test_buffers_take_the_memory_of_those_before_them() -> None:
    said = subprocess.run([sys.executable, "-c", _PAGES], capture_output=True, text=True, check=True).stdout
    assert int(said) < 1_000
