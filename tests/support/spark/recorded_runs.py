"""Runs of a pipeline that did not happen: their events and samples, second by second, as a history has them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from odradek.common.ids import TopicPartition
from odradek.spark.pipeline import events
from odradek.spark.pipeline.state import RunState
from odradek.spark.pipeline.watch.flow_samples import FlowSamples
from odradek.spark.pipeline.watch.history import History

#: 2026-11-18 12:00:00 UTC.
NOON_MS = 1_795_003_200_000
ORDERS = TopicPartition("orders", 0)

JVM_GONE = "Spark's JVM is gone"


@dataclass
class Recording:
    """Time passes in `second`; events are told as the driver and the runner would."""

    directory: Path
    now_ms: int = NOON_MS
    state: RunState = field(default_factory=RunState)
    samples: FlowSamples = field(default_factory=FlowSamples)
    #: Where the topic ends, and where the flow is that reads it.
    end: int = 0
    position: int = 0
    batch_id: int = 0
    are_brokers_up: bool = True
    on_sample: Callable[[RunState], None] = lambda state: None

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.history = History(self.directory)

    def tell(self, event: events.Event) -> None:
        event = self.state.apply(event)
        self.samples.add_event(event)
        self.history.append(self.state, event)

    def start(self, *, is_live: bool = True) -> None:
        self.tell(
            events.Started(
                time_ms=self.now_ms, pipeline="shop", project="p", storage="s", log="/x/odradek/spark.log", pid=1,
                continuous=is_live,
            )
        )  # fmt: skip

    def session(self, attempt: int = 1) -> None:
        self.tell(events.Session(time_ms=self.now_ms, attempt=attempt, driver_pid=1_000, jvm_pid=1_001, spark="4.2.0"))

    def live(self, state: str = events.RUNNING) -> None:
        for flow in ("events", "counts"):
            self.tell(events.Flow(time_ms=self.now_ms, flow=flow, update=0, state=events.RUNNING))
        self.tell(events.Live(time_ms=self.now_ms, state=state))

    def batch(self, rows: int | None = None) -> None:
        """Of the flow that reads the topic, as far as it goes unless said, and of the one that counts."""
        self.batch_id += 1
        rows = self.end - self.position if rows is None else rows
        self.position += rows
        parts = {
            "addBatch": 1_900,
            "queryPlanning": 150,
            "latestOffset": 20,
            "walCommit": 200,
            "triggerExecution": 2_400,
        }
        self.progress("events", rows, rows - 1, {"orders": {"0": self.position}}, parts)
        self.progress("counts", rows - 1, None, {}, {**parts, "addBatch": 900})

    def progress(
        self, flow: str, rows_in: int, rows_out: int | None, offsets: dict[str, dict[str, int]], parts: dict[str, int]
    ) -> None:
        is_stateful = flow == "counts"
        self.tell(
            events.Progress(
                time_ms=self.now_ms, flow=flow, batch_id=self.batch_id, rows_in=rows_in, rows_out=rows_out,
                rows_per_s=400.0, duration_ms=sum(parts.values()) - parts["triggerExecution"] + 130,
                lag=None, offsets=offsets, parts_ms=parts, state_rows=480 if is_stateful else 0,
                state_bytes=65_536 if is_stateful else 0, watermark_ms=self.now_ms - 60_000 if is_stateful else None,
            )
        )  # fmt: skip

    def second(self, produced: int = 0) -> None:
        self.now_ms += 1_000
        self.end += produced
        ends = {ORDERS: self.end} if self.are_brokers_up else None
        self.samples.add_ends(self.now_ms, ends)
        self.tell(self.samples.sample(self.state, self.now_ms))
        self.on_sample(self.state)

    def seconds(self, count: int, produced: int = 0, batch_every: int = 0) -> None:
        for number in range(count):
            if batch_every and number % batch_every == batch_every - 1:
                self.batch()
            self.second(produced)

    def idle(self) -> None:
        for flow in ("events", "counts"):
            self.tell(events.Idle(time_ms=self.now_ms, flow=flow))

    def restart(self, flow: str, cause: str) -> None:
        self.tell(events.Restart(time_ms=self.now_ms, flow=flow, attempt=1, retries=5, wait_s=1.0, cause=cause))

    def lose_driver(self) -> None:
        self.tell(events.Update(time_ms=self.now_ms, update=0, state=events.FAILED, error=JVM_GONE, may_pass=True))
        self.tell(events.Retry(time_ms=self.now_ms, attempt=1, retries=5, wait_s=0.0, cause=JVM_GONE))

    def dead_letters(self, records: int) -> None:
        self.samples.set_dead_letters({"orders.dead": records})

    def end_run(self, state: str = events.STOPPED, error: str | None = None) -> None:
        self.tell(events.Stopping(time_ms=self.now_ms))
        self.tell(
            events.Ended(time_ms=self.now_ms, state=state, updates=0, rows_in=0, rows_out=0, seconds=1.0, error=error)
        )


def eventful_run(directory: Path) -> Recording:
    """Nine seconds of start, a flow that fails, brokers that are silent, a driver that is killed, a pause, the end."""
    run = Recording(directory)
    run.start()
    run.seconds(7)
    run.session()
    run.seconds(2)
    run.live()
    run.dead_letters(0)
    run.seconds(50, produced=1_000, batch_every=2)
    run.restart("counts", "TimeoutError: partition orders-0 has no leader")
    run.seconds(3, produced=1_000)
    run.tell(events.Flow(time_ms=run.now_ms, flow="counts", update=0, state=events.RUNNING))
    run.dead_letters(12)
    run.seconds(30, produced=1_000, batch_every=2)
    run.are_brokers_up = False
    run.seconds(6)
    run.are_brokers_up = True
    run.seconds(30, produced=1_000, batch_every=2)
    run.lose_driver()
    run.seconds(10, produced=1_000)
    run.session(2)
    run.seconds(3, produced=1_000)
    run.live()
    run.seconds(60, produced=1_000, batch_every=2)
    run.batch()
    run.second()
    run.idle()
    run.seconds(25)
    run.end_run()
    return run
