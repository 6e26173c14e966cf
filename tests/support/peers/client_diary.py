"""What one of librdkafka's clients went through, so that a test that waits for it in vain can say why.

`ClientDiary(name).options()` goes into the client's configuration. The client then tells its errors and, every other
second, its state: which brokers it knows and whether it is connected, which leaders, and what waits for them.
"""

import json
import time
from collections import Counter
from typing import Any

from confluent_kafka import KafkaError

_STATE_INTERVAL_MS = 2_000


class ClientDiary:
    def __init__(self, name: str) -> None:
        self.name = name
        #: By kind: how often, and the last of them.
        self._errors: Counter[str] = Counter()
        self._last_errors: dict[str, str] = {}
        self._state: dict[str, Any] = {}
        self._state_at_s = 0.0

    def options(self) -> dict[str, Any]:
        return {
            "error_cb": self._has_failed,
            "stats_cb": self._has_told,
            "statistics.interval.ms": _STATE_INTERVAL_MS,
        }

    def _has_failed(self, error: KafkaError) -> None:
        self._errors[error.name()] += 1
        self._last_errors[error.name()] = f"at {time.strftime('%H:%M:%S')}: {error.str()}"

    def _has_told(self, state: str) -> None:
        self._state = json.loads(state)
        self._state_at_s = time.monotonic()

    def text(self) -> str:
        lines = [f"--- {self.name}"]
        lines += [f"{count} times {name}, last {self._last_errors[name]}" for name, count in self._errors.items()]
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
        f"records wait, {one['msgs_inflight']} are under way"
        for topic in state["topics"].values()
        for one in topic["partitions"].values()
        if one["partition"] >= 0
    ]
    eos = state.get("eos", {})
    idempotence = [f"producer id {eos['producer_id']}: {eos['idemp_state']}"] if "idemp_state" in eos else []
    return [*(brokers or ["it knows no broker"]), *partitions, *idempotence]
