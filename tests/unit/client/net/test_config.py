"""Kafka's client properties, as far as we have a use for them."""

from pathlib import Path

import pytest

from odradek.client.net.config import ClientConfig, read_client_config
from odradek.common.failures import InputError
from odradek.common.files import OsFileSystem


def read(directory: Path, text: str) -> ClientConfig:
    path = directory / "client.properties"
    path.write_text(text)
    return read_client_config(OsFileSystem(), str(path), ClientConfig())


def test_what_is_said_counts_and_what_is_not_stays(tmp_path: Path) -> None:
    said = "client.id=me\nrequest.timeout.ms=1\ndefault.api.timeout.ms = 2\nacks=all\nsecurity.protocol=PLAINTEXT\n"
    config = read(tmp_path, said)
    assert (config.channel.client_id, config.request_timeout_ms, config.api_timeout_ms) == ("me", 1, 2)
    assert config.channel.reconnect_backoff_ms == ClientConfig().channel.reconnect_backoff_ms
    assert read(tmp_path, "") == ClientConfig()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("request.timeout.ms=soon", 'request.timeout.ms: "soon" is no number of milliseconds'),
        ("request.timeout.ms=-1", 'request.timeout.ms: "-1" is no number of milliseconds'),
        ("security.protocol=SASL_SSL", "security.protocol: SASL_SSL is not supported; PLAINTEXT is the only protocol"),
        ("ssl.truststore.location=/x", "ssl.truststore.location: TLS is not supported."),
        ("sasl.jaas.config=hidden", "sasl.jaas.config: SASL is not supported."),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path, f"client.id=me\n{line}\n")
    assert f"client.properties:2: {reason}" in str(raised.value)
    assert "hidden" not in str(raised.value)


def test_settings_without_an_effect_and_unknown_ones_are_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    read(tmp_path, "metric.reporters=com.acme.R\nfrobs=1\nacks=all\nsasl.mechanism=GSSAPI\nenable.metrics.push=false\n")
    reporters, unknown = caplog.messages
    assert "client.properties:1: metric.reporters: it has no effect: Java classes cannot be loaded." in reporters
    assert "client.properties:2: frobs: unknown setting, ignored" in unknown
