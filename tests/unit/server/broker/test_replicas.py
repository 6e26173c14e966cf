"""The settings of a node's file, as its replicas get them."""

from pathlib import Path

import pytest

from odradek.common.files import OsFileSystem
from odradek.replica.replication_quota import QuotaWindows
from odradek.server.broker.replicas import replica_settings
from odradek.server.config.server_config import load_server_config
from support.oracles.config_cases import BROKER


@pytest.mark.parametrize(
    ("given", "copies", "moves"),
    [
        ({}, QuotaWindows(11, 1_000), QuotaWindows(11, 1_000)),
        (
            {"replication.quota.window.num": "3", "alter.log.dirs.replication.quota.window.size.seconds": "7"},
            QuotaWindows(3, 1_000),
            QuotaWindows(11, 7_000),
        ),
    ],
)
def test_windows_of_the_throttles(
    given: dict[str, str], copies: QuotaWindows, moves: QuotaWindows, tmp_path: Path
) -> None:
    path = tmp_path / "server.properties"
    values = {**BROKER, "log.dirs": str(tmp_path), "broker.session.timeout.ms": "4000", **given}
    path.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    settings = replica_settings(load_server_config(OsFileSystem(), str(path)))
    assert (settings.replication_quota_windows, settings.dir_move_quota_windows) == (copies, moves)
    assert settings.broker_session_timeout_ms == 4_000
