"""The sample of a run: what its flows do per second and how far they are behind, from events and ends of topics. Pure.

In the thread of the runner.
"""

from collections.abc import Mapping

from odradek.common.ids import TopicPartition
from odradek.spark.pipeline import events
from odradek.spark.pipeline.state import RunState
from odradek.spark.pipeline.watch.lag_times import LagTimes, partitions_of
from odradek.spark.pipeline.watch.rates import Rates
from odradek.spark.source.offset_limits import Offsets, offsets_from_json


class FlowSamples:
    def __init__(self) -> None:
        self._lag_times = LagTimes()
        self._rates: dict[str, Rates] = {}
        self._positions: dict[str, Offsets] = {}
        #: Where flows were when the run began; of those that have not started yet.
        self._checkpoints: dict[str, Offsets] = {}
        self._are_ends_known = False
        self._dead_letters: dict[str, int | None] = {}

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """Partitions whose ends are sampled."""
        return partitions_of(self._positions.values())

    def resume(self, ends: Offsets, ends_ms: int) -> None:
        """Take the last sample of the run before this one: what has come since then is at most so late."""
        self._lag_times.add(ends_ms, ends)

    def resume_positions(self, positions: Mapping[str, Offsets]) -> None:
        """Take where flows were when the run began: one that has nothing to read reports no batch, but has a lag."""
        self._checkpoints = dict(positions)

    def add_event(self, event: events.Event) -> None:
        if isinstance(event, events.Flow) and event.flow in self._checkpoints:
            self._positions.setdefault(event.flow, self._checkpoints.pop(event.flow))
        if isinstance(event, events.Flow | events.Progress):
            rates = self._rates.setdefault(event.flow, Rates(event.time_ms))
            if isinstance(event, events.Progress):
                rates.add(event.time_ms, event.rows_in, event.rows_out or 0)
                if event.offsets:
                    self._positions[event.flow] = offsets_from_json(event.offsets)

    def add_ends(self, time_ms: int, ends: Offsets | None) -> None:
        """`ends` is None where the brokers did not answer."""
        self._are_ends_known = ends is not None
        if ends is not None:
            self._lag_times.add(time_ms, ends)
            self._lag_times.forget_before(self._positions.values())

    def set_dead_letters(self, counts: Mapping[str, int | None]) -> None:
        self._dead_letters.update(counts)

    def sample(self, state: RunState, now_ms: int) -> events.Sample:
        flows = {}
        for name, flow in state.flows.items():
            is_idle = flow.state not in (events.RUNNING, events.STARTING)
            rate = self._rates.setdefault(name, Rates(now_ms)).at(now_ms, is_idle=is_idle)
            position = self._positions.get(name, {})
            lag = self._lag_times.lag_of(position, now_ms) if self._are_ends_known else None
            flows[name] = events.FlowSample(
                rows_in_per_s=rate.rows_in_per_s,
                rows_out_per_s=rate.rows_out_per_s if flow.counts_out else None,
                reads_topics=bool(position),
                lag=None if lag is None else lag.records,
                lag_ms=None if lag is None else lag.time_ms,
                is_lag_minimum=lag is not None and lag.is_minimum,
            )
        return events.Sample(time_ms=now_ms, flows=flows, dead_letters=dict(self._dead_letters))
