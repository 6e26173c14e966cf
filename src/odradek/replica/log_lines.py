"""Log lines about partitions, of which one event may bring thousands.

An election, a restart or a failed disk concerns every partition of a broker at once. Lines are collected while such an
event is worked off. `flush` then writes those of a few partitions as they are, and one summary in place of many: the
details are written at DEBUG.
"""

from __future__ import annotations

import logging

from odradek.common.ids import TopicPartition

#: As many partitions have a line each; more of them share one.
_FEW = 5
#: As many of them a summary names.
_NAMED = 5


class PartitionLogLines:
    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._collected: dict[tuple[int, str], list[tuple[TopicPartition, str]]] = {}

    def add(self, level: int, event: str, tp: TopicPartition, detail: str) -> None:
        """`event` is what all partitions of a summary have in common, `detail` all there is to say about this one."""
        self._collected.setdefault((level, event), []).append((tp, detail))

    def flush(self) -> None:
        collected, self._collected = self._collected, {}
        for (level, event), lines in collected.items():
            if len(lines) > _FEW:
                names = ", ".join(str(tp) for tp, _ in lines[:_NAMED])
                self._logger.log(level, "%d partitions %s: %s, …", len(lines), event, names)
                level = logging.DEBUG
            for tp, detail in lines:
                self._logger.log(level, "%s: %s", tp, detail)
