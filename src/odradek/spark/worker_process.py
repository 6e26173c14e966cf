"""Optimization of Python processes of Spark that is applied once, so that later tasks are faster.

Spark uses such a process for one task after the other, and runs a full garbage collection after each task: it visits
the objects of all loaded modules, which takes about 50 ms, many times the duration of a small task. The objects that
exist after the first task of a type live as long as the process, and are excluded from later collections.
"""

import gc
from functools import cache


@cache
def spare_modules(work: str) -> None:
    """Exclude existing objects from garbage collection, once for each type of work, after it has loaded its modules."""
    gc.freeze()
