"""Output of measurements: live metrics on a terminal, lines elsewhere, and a table or a document at the end."""

import asyncio
import sys
import time
from array import array
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings
from odradek.cli.base.output import print_json, print_table
from odradek.common.printable import printable

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

_MIB = 1024 * 1024

#: Intervals of updates on a terminal, and of lines in a file.
_TERMINAL_INTERVAL_S = 0.25
_PLAIN_INTERVAL_S = 5.0

_PERCENTILES = (50.0, 95.0, 99.0, 99.9)


class Meter:
    """Counts records and latencies, and shows them. A context manager around the measured part."""

    def __init__(self, settings: Settings, title: str, records_total: int) -> None:
        self._settings = settings
        self._title = title
        self._total = records_total
        self.records = 0
        self.bytes = 0
        self._latencies_ms = array("d")
        self._started_s = self._ended_s = time.perf_counter()
        self._is_terminal = sys.stderr.isatty()
        self._interval_s = _TERMINAL_INTERVAL_S if self._is_terminal else _PLAIN_INTERVAL_S
        #: Time of the last update, with the records, bytes and latencies counted until then.
        self._last_shown = (self._started_s, 0, 0, 0)
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._is_terminal:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True)
            self._live.start()
        self._started_s = self._ended_s = time.perf_counter()
        self._last_shown = (self._started_s, 0, 0, 0)
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended_s = time.perf_counter()
        if self._live is not None:
            self._live.stop()
        if error_type is asyncio.CancelledError:  # Ctrl-C: show the result so far
            self.finish()

    def count(self, records: int, size_bytes: int) -> None:
        self.records += records
        self.bytes += size_bytes
        now_s = time.perf_counter()
        if now_s - self._last_shown[0] >= self._interval_s:
            self._show(now_s)

    def latency(self, elapsed_ms: float, records: int = 1) -> None:
        if records == 1:
            self._latencies_ms.append(elapsed_ms)
        else:
            self._latencies_ms.extend([elapsed_ms] * records)

    def _show(self, now_s: float) -> None:
        last_s, records, size_bytes, latency_count = self._last_shown
        seconds = now_s - last_s
        recent = self._latencies_ms[latency_count:]
        self._last_shown = (now_s, self.records, self.bytes, len(self._latencies_ms))
        rate, mib_rate = (self.records - records) / seconds, (self.bytes - size_bytes) / seconds / _MIB
        rates = f"{rate:,.0f} records/s, {mib_rate:,.1f} MiB/s"
        latency = f", {sum(recent) / len(recent):.1f} ms mean, {max(recent):.1f} ms max" if recent else ""
        if self._live is None:
            echo(f"{self.records:,} of {self._total:,} records, {rates}{latency}", err=True)
        else:
            self._live.update(_panel(self._title, self.records, self._total, f"{rates}{latency}"))

    # The end

    def finish(self, more: dict[str, float] | None = None) -> None:
        metrics = self._metrics() | (more or {})
        if self._settings.as_json:
            print_json({"measured": self._title, **metrics})
        else:
            print_table(
                ("measured", "value"), [(_label(name), _format_number(value)) for name, value in metrics.items()]
            )

    def _metrics(self) -> dict[str, float]:
        seconds = max(self._ended_s - self._started_s, 1e-9)
        metrics: dict[str, float] = {
            "records": self.records,
            "seconds": round(seconds, 3),
            "records_per_s": round(self.records / seconds, 1),
            "mib_per_s": round(self.bytes / seconds / _MIB, 3),
        }
        if self._latencies_ms:
            metrics |= percentiles(self._latencies_ms)
        return metrics


def percentiles(values_ms: Sequence[float]) -> dict[str, float]:
    import numpy as np

    values = np.asarray(values_ms)
    metrics = {"latency_mean_ms": float(values.mean())}
    for percentile, value in zip(_PERCENTILES, np.percentile(values, _PERCENTILES), strict=True):
        metrics[f"latency_p{percentile:g}_ms"] = float(value)
    metrics["latency_max_ms"] = float(values.max())
    return {name: round(value, 3) for name, value in metrics.items()}


def _panel(title: str, records: int, total: int, rates: str) -> "Table":
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    lines = Table.grid()
    lines.add_row(Text(printable(f"{title}: {records:,} of {total:,} records")))  # brackets in a name are not markup
    lines.add_row(ProgressBar(total=total, completed=min(records, total), width=60))
    lines.add_row(rates)
    return lines


def _label(name: str) -> str:
    """Return the label of a metric: records_per_s -> records/s, latency_p99_ms -> latency p99 (ms)."""
    if name.endswith("_ms"):
        return f"{name[:-3].replace('_', ' ')} (ms)"
    return name.replace("mib", "MiB").replace("_per_", "/").replace("_", " ")


def _format_number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}".rstrip("0").rstrip(".")
