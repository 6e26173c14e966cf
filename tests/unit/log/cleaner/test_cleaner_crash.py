"""A crash at every operation of a round: the log is as it was before a swap or as it is after it, never a mix."""

from collections.abc import Callable
from random import Random

import pytest

from odradek.log.cleaner.cleaner import Swap
from odradek.log.recovery.log_loader import load_log
from odradek.log.unified_log import UnifiedLog
from odradek.sim.world.disk import SimulatedDisk
from odradek.sim.world.disk_crash import Keep
from support.builders.cleaning import CompactedLog, later, new_cleaning, records_of
from support.builders.logs import OPTIONS, HandClock

Content = tuple[tuple[int, bytes | None, bytes | None], ...]

#: Chosen so that a run takes seconds; every operation is met with each of them.
RANDOM_SUBSETS = 6


def content(log: UnifiedLog) -> Content:
    return tuple((record.offset, record.key, record.value) for record in records_of(log))


def one_group(log: CompactedLog) -> None:
    for number in range(4):
        log.append((b"a", b"%d" % number), (b"b%d" % number, b"x" * 30), producer_id=1)
        log.transaction(2, [(b"t", b"%d" % number)], commit=number % 2 == 0)
        log.roll()


def many_groups(log: CompactedLog) -> None:
    log.with_config(later(log.config, segment_bytes=400))
    for number in range(6):
        log.append((b"a", b"%d" % number), (b"b%d" % number, b"x" * 200))
        log.append((b"c", b"%d" % number * 20))
        log.roll()


@pytest.mark.parametrize("fill", [one_group, many_groups])
def test_old_or_new_after_a_crash_at_any_operation(fill: Callable[[CompactedLog], None]) -> None:
    disk = SimulatedDisk()
    log = CompactedLog(disk)
    fill(log)
    log.log.flusher.flush(include_active=True)
    recovery_point = log.log.offsets.recovery_point
    assert recovery_point == log.log.offsets.log_end_offset
    disk.settle()
    allowed = [content(log.log)]
    cleaning = new_cleaning(log.log)
    for step in cleaning.steps():
        if isinstance(step, Swap):
            cleaning.swap(step, log.log)
            allowed.append(content(log.log))
    for removal in log.log.segments.take_removals():
        removal.run()
    assert len(set(allowed)) > (4 if fill is many_groups else 1)
    seen: dict[Content, int] = dict.fromkeys(allowed, 0)
    for number, state in enumerate(disk.states()):
        keeps: list[Keep] = ["none", "all", *(Random(f"{number} {n}") for n in range(RANDOM_SUBSETS))]
        for keep in keeps:
            after = state.crash(keep)
            found = load_log(
                after, HandClock(), log.directory, log.config, recovery_point=recovery_point, options=OPTIONS
            )
            assert content(found) in seen, f"after operation {number}, keeping {keep}"
            assert found.offsets.log_end_offset == log.log.offsets.log_end_offset
            seen[content(found)] += 1
            found.offsets.set_high_watermark(found.offsets.log_end_offset)
            again = load_log(
                after, HandClock(), log.directory, log.config, recovery_point=recovery_point, options=OPTIONS
            )
            assert content(again) == content(found)
            assert not [name for name in after.list_dir(log.directory) if name.endswith((".cleaned", ".swap"))]
    assert all(seen.values()), "every state of the log was met"
