"""What one of librdkafka's clients went through, so that a test that waits for it in vain can say why.

`ClientDiary(name).options()` goes into the client's configuration. The client then tells its errors and, every other
second, its state: which brokers it knows and whether it is connected, which leaders, and what waits for them.
"""

import json
import time
from collections import deque
from typing import Any

_STATE_INTERVAL_MS = 2_000
_ERRORS_KEPT = 10


class ClientDiary:
    def __init__(self, name: str) -> None:
        self.name = name
        self._errors: deque[str] = deque(maxlen=_ERRORS_KEPT)
        self._state: dict[str, Any] = {}
        self._state_at_s = 0.0

    def options(self) -> dict[str, Any]:
        return {
            "error_cb": self._has_failed,
            "stats_cb": self._has_told,
            "statistics.interval.ms": _STATE_INTERVAL_MS,
        }

    def _has_failed(self, error: object) -> None:
        self._errors.append(f"{_clock()} {error}")

    def _has_told(self, state: str) -> None:
        self._state = json.loads(state)
        self._state_at_s = time.monotonic()

    def text(self) -> str:
        lines = [f"--- {self.name}, its last errors:", *self._errors]
        if self._state:
            lines += [f"its state {time.monotonic() - self._state_at_s:.1f} s ago:", *_told(self._state)]
        else:
            lines.append("it has told no state")
        return "\n".join(lines)


def _told(state: dict[str, Any]) -> list[str]:
    brokers = [
        f"broker {one['name']}: {one['state']} for {one['stateage'] // 1_000_000} s, "
        f"{one['waitresp_cnt']} answers due, {one['connects']} connections so far"
        for one in state["brokers"].values()
        if one["source"] != "internal"
    ]
    partitions = [
        f"{topic['topic']}-{one['partition']}: leader {one['leader']}, {one['msgq_cnt']} + {one['xmit_msgq_cnt']} "
        f"records wait, {one['msgs_inflight']} are under way, next offset {one['next_offset']}"
        for topic in state["topics"].values()
        for one in topic["partitions"].values()
        if one["partition"] >= 0
    ]
    eos = state.get("eos", {})
    idempotence = [f"producer id {eos['producer_id']}: {eos['idemp_state']}"] if "idemp_state" in eos else []
    return [*(brokers or ["it knows no broker"]), *partitions, *idempotence]


def _clock() -> str:
    return time.strftime("%H:%M:%S")
