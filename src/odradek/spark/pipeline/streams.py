"""What Spark's streams report of their micro-batches, as events of ours."""

import json
import time
from collections.abc import Callable
from typing import Any

from odradek.spark.limits import Offsets, offsets_from_json, offsets_to_json
from odradek.spark.pipeline.events import Event, Progress

#: What Spark reports where a sink does not count.
_UNKNOWN_ROWS = -1


def listener(tell: Callable[[Event], None], short: Callable[[str], str], update: Callable[[], int]) -> Any:
    """For a session: tells a Progress for each micro-batch. `short` gives the name of a flow."""
    from pyspark.sql.streaming.listener import StreamingQueryListener

    class Listener(StreamingQueryListener):
        def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's names
            pass

        def onQueryProgress(self, event: Any) -> None:  # noqa: N802
            said = json.loads(event.progress.json)
            tell(progress_event(said, short(said["name"]), update()))

        def onQueryIdle(self, event: Any) -> None:  # noqa: N802
            pass

        def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
            pass

    return Listener()


def progress_event(said: dict[str, Any], flow: str, update: int) -> Progress:
    """Of Spark's own JSON of a micro-batch."""
    rows_out = said.get("sink", {}).get("numOutputRows", _UNKNOWN_ROWS)
    done: dict[str, dict[str, int]] = {}
    lags = []
    for source in said.get("sources", ()):
        offsets, latest = topic_offsets(source.get("endOffset")), topic_offsets(source.get("latestOffset"))
        if offsets is not None:
            done.update(offsets_to_json(offsets))
        if offsets is not None and latest is not None:
            lags.append(behind(offsets, latest))
    return Progress(
        time_ms=time.time_ns() // 1_000_000,
        flow=flow,
        update=update,
        batch_id=said["batchId"],
        rows_in=said.get("numInputRows", 0),
        rows_out=None if rows_out == _UNKNOWN_ROWS else rows_out,
        rows_per_s=round(said.get("processedRowsPerSecond") or 0.0, 1),
        duration_ms=said.get("batchDuration", 0),
        lag=sum(lags) if lags else None,
        offsets=done,
    )


def topic_offsets(said: Any) -> Offsets | None:
    """Of a source that reads topics, as it says where it is; None for any other source."""
    try:
        found = json.loads(said) if isinstance(said, str) else said
        return offsets_from_json(found) if found else None
    except (ValueError, AttributeError, TypeError):
        return None


def behind(done: Offsets, ends: Offsets) -> int:
    return sum(max(end - done.get(partition, 0), 0) for partition, end in ends.items())
