"""Limit on open files and connections of the process.

Systems give a process a small number and let it have more for the asking, and a broker needs more: one for each
partition that is written to, and one for each connection. Kafka's JVM asks likewise.
"""

import logging
import resource

logger = logging.getLogger("odradek.node")

#: A broker with fewer will meet the limit in ordinary use.
_FEW = 10_000


def allow_many_descriptors() -> None:
    """Raise the limit to the maximum that the system allows."""
    allowed, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed != limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    if limit != resource.RLIM_INFINITY and limit < _FEW:
        logger.warning("only %d files and connections may be open at a time; raise the limit (ulimit -n)", limit)
