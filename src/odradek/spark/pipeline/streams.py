"""Progress reports of Spark's streams as events of a pipeline."""

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol

from odradek.common.ids import TopicPartition
from odradek.spark.pipeline.events import Progress
from odradek.spark.pipeline.table_rows import rows_written
from odradek.spark.source.offset_limits import Offsets, offsets_from_json, offsets_to_json

#: What Spark reports where a sink does not count.
_UNKNOWN_ROWS = -1


class StreamObserver(Protocol):
    """Observer of the streams of a session."""

    def short(self, flow: str) -> str:
        """A flow's name as people know it."""

    def lag_of(self, position: Offsets) -> int | None:
        """Return the lag according to the cluster; None where it does not answer."""

    def batch_done(self, event: Progress, query_name: str) -> None: ...

    def query_idle(self, run_id: str) -> None: ...

    def query_ended(self, run_id: str, error: str | None) -> None: ...


def listener(observer: StreamObserver) -> Any:
    """Return a listener for a session that reports each micro-batch to `observer`."""
    from pyspark.sql.streaming.listener import StreamingQueryListener

    class Listener(StreamingQueryListener):
        def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's names
            pass

        def onQueryProgress(self, event: Any) -> None:  # noqa: N802
            progress = json.loads(event.progress.json)
            event, position = progress_event(progress, observer.short(progress["name"]))
            lag = observer.lag_of(position)
            observer.batch_done(event if lag is None else replace(event, lag=lag), progress["name"])

        def onQueryIdle(self, event: Any) -> None:  # noqa: N802
            observer.query_idle(str(event.runId))

        def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
            observer.query_ended(str(event.runId), event.exception)

    return Listener()


def progress_event(progress: Mapping[str, Any], flow: str) -> tuple[Progress, Offsets]:
    """Return the event for Spark's JSON of a micro-batch, and the position of its sources."""
    counted = progress.get("sink", {}).get("numOutputRows", _UNKNOWN_ROWS)
    position: dict[TopicPartition, int] = {}
    latest: dict[TopicPartition, int] = {}
    for source in progress.get("sources", ()):
        position.update(topic_offsets(source.get("endOffset")) or {})
        latest.update(topic_offsets(source.get("latestOffset")) or {})
    event = Progress(
        time_ms=time.time_ns() // 1_000_000,
        flow=flow,
        batch_id=progress["batchId"],
        rows_in=progress.get("numInputRows", 0),
        rows_out=rows_written(progress) if counted == _UNKNOWN_ROWS else counted,
        rows_per_s=round(progress.get("processedRowsPerSecond") or 0.0, 1),
        duration_ms=progress.get("batchDuration", 0),
        lag=behind(position, latest) if position and latest else None,
        offsets=offsets_to_json(position),
        parts_ms=dict(progress.get("durationMs", {})),
        state_rows=sum(operator.get("numRowsTotal", 0) for operator in progress.get("stateOperators", ())),
        state_bytes=sum(operator.get("memoryUsedBytes", 0) for operator in progress.get("stateOperators", ())),
        watermark_ms=_watermark_ms(progress.get("eventTime", {}).get("watermark")),
    )
    return event, position


def _watermark_ms(text: str | None) -> int | None:
    """Before it has seen a row, a query with a watermark reports the beginning of 1970."""
    if text is None:
        return None
    watermark_ms = round(datetime.fromisoformat(text).timestamp() * 1000)
    return watermark_ms or None


def topic_offsets(text: Any) -> Offsets | None:
    """Return the offsets of a source that reads topics; None for any other source."""
    try:
        document = json.loads(text) if isinstance(text, str) else text
        return offsets_from_json(document) if document else None
    except (ValueError, AttributeError, TypeError):
        return None


def behind(position: Offsets, ends: Offsets) -> int:
    return sum(max(end - position.get(partition, 0), 0) for partition, end in ends.items())
