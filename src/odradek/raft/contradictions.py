"""Messages of peers that contradict what this replica has on its disk. They are counted, logged and ignored."""

import logging

logger = logging.getLogger("odradek.raft")


class Contradictions:
    def __init__(self) -> None:
        #: Number of such messages since the start.
        self.count = 0

    def report(self, level: int, text: str) -> None:
        """Count one message and log it. A peer may repeat it fifty times a second for as long as it runs, so only the
        first, second, fourth, eighth … are logged."""
        self.count += 1
        if self.count & (self.count - 1) == 0:
            logger.log(level, "%s; ignored (%d such messages since the start)", text, self.count)
