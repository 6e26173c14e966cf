"""The stream reader for Spark 4.1, which neither limits a micro-batch nor passes its beginning to the source.

The calls come in another order than those of Spark 4.2:

- A new stream: `latestOffset()` first, whose result Spark writes to the checkpoint; then `initialOffset()` and
  `partitions(initial, latest)`.
- A stream that is continued: `partitions(end, end)` with the last offsets in the checkpoint, only to inform the source;
  then, if its last batch was not committed, `initialOffset()` for batch 0, and `partitions(start, end)`.
- With the trigger `availableNow` Spark runs one batch, with the calls above. With its setting
  `spark.sql.streaming.triggerAvailableNowWrapper.enabled` it calls `latestOffset()` once, before all others.

So the first `latestOffset()` may belong to a new stream or not. It returns the ends of all partitions; problems with
the beginning of a new stream are raised by `initialOffset()`.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark.sql.datasource import InputPartition

from odradek.common.failures import InputError
from odradek.spark.plain_errors import plain_errors
from odradek.spark.source.offset_limits import Offsets, StreamOffset
from odradek.spark.source.offset_resolver import OffsetResolver, StartingOffsets
from odradek.spark.source.options import SourceOptions
from odradek.spark.source.range_reader import report_data_loss
from odradek.spark.source.stream_reader import Json, StreamReader, losses


class UnlimitedStreamReader(StreamReader):
    """Reader of one stream; names and arguments of the methods are those of Spark 4.1."""

    def __init__(
        self,
        options: SourceOptions,
        resolver: OffsetResolver | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raise InputError for options that require read limits."""
        limits = {
            "maxOffsetsPerTrigger": options.offsets_per_trigger_max,
            "minOffsetsPerTrigger": options.offsets_per_trigger_min,
        }
        for name, value in limits.items():
            if value is not None:
                raise InputError(
                    f"{name} requires Spark 4.2 or newer: Spark 4.1 does not pass the beginning of a micro-batch to a "
                    "source in Python, so that the batch cannot be limited"
                )
        super().__init__(options, resolver, clock_s)
        #: The last offsets that Spark passed or received.
        self._last_seen = StreamOffset({})
        #: Whether Spark has passed offsets of the checkpoint.
        self._is_continued = False

    @plain_errors()
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        if self._start is None:
            start = self._resolver.starting_offsets()
            if not self._is_continued:
                start = self._checked_beginning(start, self._latest.offsets)
                self._first_end = self._latest
            self._start = start
        return self._start.stream_offset.to_json()

    @plain_errors()
    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]  # noqa: N802
        self._latest = self._last_seen = self._resolver.latest(self._last_seen)
        return self._latest.to_json()

    @plain_errors()
    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        if self._start is None:
            self._is_continued = True
        self._last_seen = StreamOffset.from_json(end)
        return super().partitions(start, end)

    def _checked_beginning(self, start: StartingOffsets, latest: Offsets) -> StartingOffsets:
        """Return the beginning of a new stream whose first batch ends at `latest`. Partitions that begin at the latest
        offset begin there, so that they are empty in the first batch."""
        if start.problem is not None:
            raise InputError(start.problem)
        offsets = {
            partition: latest[partition] if partition in start.at_latest else offset
            for partition, offset in start.offsets.items()
            if partition in latest
        }
        for loss in losses(offsets, offsets, latest):
            report_data_loss(self._options, loss)
        return replace(start, offsets=offsets, at_latest=start.at_latest & offsets.keys())
