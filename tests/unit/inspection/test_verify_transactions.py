"""`odradek log verify` on logs with transactions: no false alarm whatever happened to them, one finding for what is."""

from pathlib import Path
from random import Random

import pytest

from odradek.cli.app import run
from odradek.common.files import OsFileSystem
from odradek.log.unified_log import UnifiedLog
from support.builders.cleaning import CompactedLog
from support.builders.committed_reads import History, Replica, aborted_entries, replace_index
from support.builders.logs import HandClock, Rig, stored_batches
from support.fakes.log_faults import scaled

SEEDS = scaled(4)
STEPS = 8
#: What `producer.id.expiration.ms` is by default.
EXPIRATION_MS = 24 * 60 * 60 * 1000


def rig_in(directory: Path) -> Rig:
    return Rig(OsFileSystem(), HandClock(), f"{directory}/topic-0")


def problems_in(log: UnifiedLog, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Stops the log and verifies its directory."""
    log.flusher.flush(include_active=True)
    log.close()
    checkpoint = Path(log.directory).parent / "log-start-offset-checkpoint"
    checkpoint.write_text(f"0\n1\ntopic 0 {log.offsets.log_start_offset}\n")
    capsys.readouterr()
    status = run(["log", "verify", log.directory])
    problems = [line for line in capsys.readouterr().out.splitlines() if line.startswith("problem: ")]
    assert status == (1 if problems else 0)
    return problems


@pytest.mark.parametrize("policy", ["delete", "compact"])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_nothing_is_wrong_after_compaction_truncation_recovery_and_expiry(
    seed: int, policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replica = Replica(seed, rig_in(tmp_path), (policy,))

    def delete_records() -> None:
        log = replica.log
        log.offsets.set_high_watermark(log.offsets.log_end_offset)
        log.offsets.raise_start(replica.draw.randint(log.offsets.log_start_offset, log.offsets.high_watermark))

    actions = [replica.catch_up, replica.catch_up, replica.roll, replica.restart, replica.recover]
    actions += [replica.expire_producers]
    actions += [replica.compact, replica.compact] if policy == "compact" else [replica.truncate, delete_records]
    for _ in range(STEPS):
        replica.draw.choice(actions)()
        assert problems_in(replica.log, capsys) == []
        replica.load(clean_shutdown=True, recovery_point=replica.log.offsets.log_end_offset)


def test_a_producer_whose_batches_were_cleaned_away_is_no_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The snapshot of a clean stop stays where it is, inside of the segment that compaction makes."""
    log = CompactedLog(OsFileSystem(), f"{tmp_path}/topic-0")
    log.append((b"a", b"stays"))
    log.append((b"b", b"goes"), producer_id=0)
    log.restart()
    log.clock.now_ms += EXPIRATION_MS
    log.log.producers.remove_expired(log.log.clock.wall_ms())
    log.append((b"b", b"stays"), producer_id=1)
    log.clean()
    assert [batch.producer_id for batch in stored_batches(log.log)] == [-1, 1]
    assert Path(log.directory, "00000000000000000002.snapshot").exists()
    assert problems_in(log.log, capsys) == []


def test_a_producer_that_expired_and_came_back_is_no_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A snapshot then has only what came since: no coordinator epoch, or no batch."""
    log = CompactedLog(OsFileSystem(), f"{tmp_path}/topic-0")
    log.transaction(0, [(b"a", b"1")], commit=True)
    log.transaction(1, [(b"b", b"1")], commit=True)
    log.clock.now_ms += EXPIRATION_MS
    log.log.producers.remove_expired(log.log.clock.wall_ms())
    log.append((b"c", b"1"), producer_id=0)
    log.end_transaction(1, commit=True)
    log.roll()
    assert problems_in(log.log, capsys) == []


def test_last_stable_offsets_that_are_too_high_are_one_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = History(Random(1))
    for _ in range(7):
        history.write(5)
        history.end(5, commit=False)
    history.write(6)
    log = rig_in(tmp_path).load()
    log.appender.append_as_follower(bytearray(b"".join(batch.data for batch in history.batches)), 0)
    replace_index(log, aborted_entries([history.batches], as_kafka=True))
    path = f"{log.directory}/00000000000000000000.txnindex"
    assert problems_in(log, capsys) == [
        f"problem: {path}:26: last stable offset too high in 6 of 7 entries, first in entry 0, the aborted transaction "
        "of producer 5, offsets 0..1: 14, should be 2. A read_committed consumer that fetches small ranges from Apache "
        "Kafka gets aborted records. Odradek reads such an index correctly, and corrects the file when it next loads "
        "the log"
    ]


def test_an_aborted_transaction_that_a_compacted_logs_index_lacks_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its records are still there, and readers would get them."""
    log = CompactedLog(OsFileSystem(), f"{tmp_path}/topic-0")
    log.append((b"a", b"1"))
    log.append((b"a", b"2"))
    log.append((b"b", b"3"))
    log.clean()
    log.transaction(0, [(b"a", b"no")], commit=False)
    log.log.segments.active.txn_index.reset()
    (problem,) = problems_in(log.log, capsys)
    assert "the aborted transaction of producer 0, offsets 3..4 is in the segment and not in the index" in problem
