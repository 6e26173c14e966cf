"""Contents of a report: runs that follow each other, what interrupted them, and what their flows did. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from odradek.spark.pipeline.report import measures
from odradek.spark.pipeline.report.gaps import Gap, find_gaps
from odradek.spark.pipeline.report.measures import FlowTotals
from odradek.spark.pipeline.report.runs import Run
from odradek.spark.pipeline.report.units import Clock


@dataclass(frozen=True, slots=True)
class Report:
    """Contents of a report; `story` and `document` put them into sentences."""

    pipeline: str
    runs: Sequence[Run]
    gaps: Sequence[Gap]
    flows: Sequence[FlowTotals]
    clock: Clock
    version: str

    @property
    def start_ms(self) -> int:
        return self.runs[0].start_ms

    @property
    def end_ms(self) -> int:
        return self.runs[-1].end_ms

    @property
    def faults(self) -> list[Gap]:
        return [gap for gap in self.gaps if gap.is_fault]

    @property
    def pauses(self) -> list[Gap]:
        return [gap for gap in self.gaps if not gap.is_fault]

    @property
    def dead_letters(self) -> dict[str, int] | None:
        """Records by topic at the end; None where no topic is known."""
        counts: dict[str, int] = {}
        for run in self.runs:
            for entry in run.dead_letters:
                counts.update({topic: records for topic, records in entry.records.items() if records is not None})
        return counts or None

    @property
    def lag(self) -> int | None:
        """Records that are not processed at the end; of the flow that is furthest behind."""
        lags = [flow.lag for flow in self.flows if flow.lag is not None]
        return max(lags) if lags else None


def make_report(pipeline: str, runs: Sequence[Run], *, utc: bool, version: str) -> Report:
    """`runs` are one or more that follow each other."""
    return Report(pipeline, runs, find_gaps(runs), measures.flow_totals(runs), Clock(utc=utc), version)
