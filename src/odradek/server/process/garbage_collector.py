"""Python's cyclic garbage collector in a node's process.

A node makes millions of small tuples and messages that no cycle runs through: reference counting frees them at once,
and the collector would look at them in vain, again and again while an image is loaded (a third of the time of loading
100,000 partitions). So it looks more rarely, and never at what was there before the node started.
"""

import gc

#: New containers (net of those freed) between two looks at the youngest; Python's own default is 700. A cycle of a few
#: hundred bytes may wait this long, which is some megabytes at most.
_YOUNG_CONTAINERS = 50_000

#: Looks at one generation before the next older one is looked at too.
_LOOKS = 20


def relax_collector() -> None:
    gc.freeze()
    gc.set_threshold(_YOUNG_CONTAINERS, _LOOKS, _LOOKS)
