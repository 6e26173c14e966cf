"""What a run of the demo is made of, and what it leaves: the options, and the record of what happened when."""

from dataclasses import dataclass, field
from pathlib import Path

from demo.watch import Sample
from odradek.spark.pipeline.report.charts import Fault


@dataclass(frozen=True, slots=True)
class Plan:
    #: Of events.
    seconds: int
    rate: float
    seed: int
    #: Everything of the run but the report is in here, and gone at the end.
    work: Path
    report: Path
    #: Of a broker and of Spark's driver.
    kills: bool = True

    @property
    def broker_kill_s(self) -> float:
        return self.seconds * 0.25

    @property
    def broker_down_s(self) -> float:
        return min(10.0, self.seconds * 0.15)

    @property
    def driver_kill_s(self) -> float:
        return self.seconds * 0.55


@dataclass(slots=True)
class Story:
    """Times are milliseconds since 1970."""

    opened_ms: int = 0
    closed_ms: int = 0
    drained_ms: int = 0
    failed_sends: int = 0
    batches: int = 0
    sessions: int = 0
    faults: list[Fault] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)

    def add_fault(self, name: str, start_ms: int, end_ms: int) -> None:
        self.faults.append(Fault(name, (start_ms - self.opened_ms) / 1_000, (end_ms - self.opened_ms) / 1_000))
