"""What a Python process of Spark does once, so that its later tasks cost less.

Spark uses such a process for one task after the other, and collects garbage after each of them, in full: a walk over
everything that all loaded modules are made of, some 50 ms, many times what a small task takes. What is there when
the first task of a kind is done stays for as long as the process does, and need not be looked at again.
"""

import gc
from functools import cache


@cache
def spare_modules(work: str) -> None:
    """Once for each kind of work, when it has loaded all that it needs."""
    gc.freeze()
