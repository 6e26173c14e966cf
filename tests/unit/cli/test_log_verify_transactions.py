"""`odradek log verify` on logs with transactions: no false alarm whatever happened to them, one finding for what is."""

from pathlib import Path

import pytest

from helpers.committed_reads import Replica
from helpers.log_faults import scaled
from helpers.logs import HandClock, Rig
from odradek.cli.app import run
from odradek.common.files import OsFileSystem

SEEDS = scaled(4)
STEPS = 8
#: What `producer.id.expiration.ms` is by default.
EXPIRATION_MS = 24 * 60 * 60 * 1000


def rig_in(directory: Path) -> Rig:
    return Rig(OsFileSystem(), HandClock(), f"{directory}/topic-0")


def problems_of(replica: Replica, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Stops the log, verifies its directory and starts it again."""
    replica.log.flush(include_active=True)
    replica.log.close()
    start_offset = replica.log.log_start_offset
    Path(replica.rig.directory).parent.joinpath("log-start-offset-checkpoint").write_text(
        f"0\n1\ntopic 0 {start_offset}\n"
    )
    capsys.readouterr()
    status = run(["log", "verify", replica.rig.directory])
    problems = [line for line in capsys.readouterr().out.splitlines() if line.startswith("wrong: ")]
    assert status == (1 if problems else 0)
    replica.load(clean_shutdown=True, recovery_point=replica.log.log_end_offset)
    return problems


@pytest.mark.parametrize("policy", ["delete", "compact"])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_nothing_is_wrong_after_compaction_truncation_recovery_and_expiry(
    seed: int, policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replica = Replica(seed, rig_in(tmp_path), (policy,))

    def expire_producers() -> None:
        replica.rig.clock.now_ms += EXPIRATION_MS
        replica.log.expire_producers()

    def delete_records() -> None:
        log = replica.log
        log.update_high_watermark(log.log_end_offset)
        log.maybe_increment_log_start_offset(replica.draw.randint(log.log_start_offset, log.high_watermark))

    actions = [replica.catch_up, replica.catch_up, replica.roll, replica.restart, replica.recover, expire_producers]
    actions += [replica.compact, replica.compact] if policy == "compact" else [replica.truncate, delete_records]
    for _ in range(STEPS):
        replica.draw.choice(actions)()
        assert problems_of(replica, capsys) == []
