"""Log lines about partitions, thousands of which may belong to one event.

An election, a restart or a failed disk concerns every partition of a broker at once. Lines are collected while such an
event is handled. `flush` then writes those of a few partitions as they are, and one summary in place of many: the
details are written at DEBUG.
"""

from __future__ import annotations

import logging

from odradek.common.ids import TopicPartition

#: Up to this many partitions have a line each; more of them share one.
_FEW = 5
#: Partitions named in a summary.
_NAMED = 5


class PartitionLogLines:
    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._collected: dict[tuple[int, str], list[tuple[TopicPartition, str]]] = {}

    def add(self, level: int, event: str, tp: TopicPartition, detail: str) -> None:
        """Collect a line. `event` is common to the partitions of a summary, `detail` is about this partition."""
        self._collected.setdefault((level, event), []).append((tp, detail))

    def flush(self) -> None:
        """Write the collected lines."""
        collected, self._collected = self._collected, {}
        for (level, event), lines in collected.items():
            if len(lines) > _FEW:
                names = ", ".join(str(tp) for tp, _ in lines[:_NAMED])
                self._logger.log(level, "%d partitions %s: %s, …", len(lines), event, names)
                level = logging.DEBUG
            for tp, detail in lines:
                self._logger.log(level, "%s: %s", tp, detail)
