"""Settings that do nothing here: rejected with the file and the line, or one warning, before anything is started."""

from pathlib import Path

import pytest

from odradek.common.failures import InputError
from odradek.common.files import OsFileSystem
from odradek.server.config.server_config import ServerConfig, load_server_config
from support.oracles.config_cases import BROKER, COMBINED

ROOT = Path(__file__).parents[4]

#: All settings of the file that comes with Apache Kafka 4.3.
KAFKA_SAMPLE = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=2
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""


def load(directory: Path, text: str) -> ServerConfig:
    path = directory / "server.properties"
    path.write_text(text)
    return load_server_config(OsFileSystem(), str(path))


def loaded_warnings(directory: Path, text: str) -> list[str]:
    return [warning.replace(f"{directory}/", "") for warning in load(directory, text).warnings]


def errors(directory: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        load(directory, text)
    return str(caught.value).replace(f"{directory}/", "")


def lines(values: dict[str, str]) -> str:
    return "".join(f"{key}={value}\n" for key, value in values.items())


def test_the_file_that_comes_with_kafka_is_taken_with_one_warning(tmp_path: Path) -> None:
    assert loaded_warnings(tmp_path, KAFKA_SAMPLE) == [
        "server.properties: settings without an effect here: num.network.threads, num.io.threads, "
        "share.coordinator.state.topic.min.isr. docs/settings.md says why."
    ]


@pytest.mark.parametrize("name", ["server", "broker", "controller"])
def test_our_own_files_have_no_setting_without_an_effect(name: str) -> None:
    assert load_server_config(OsFileSystem(), str(ROOT / "config" / f"{name}.properties")).warnings == ()


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("remote.log.storage.system.enable", "true", "Tiered storage is not supported."),
        ("sasl.enabled.mechanisms", "PLAIN", "SASL is not supported."),
        ("sasl.jaas.config", "x", "SASL is not supported."),
        ("ssl.keystore.location", "/x", "TLS is not supported."),
        ("ssl.client.auth", "required", "TLS is not supported."),
        ("listener.name.plaintext.ssl.keystore.location", "/x", "TLS is not supported."),
        ("authorizer.class.name", "org.example.A", "Authorizers are not supported"),
        ("create.topic.policy.class.name", "org.example.A", "Java classes cannot be loaded"),
        ("alter.config.policy.class.name", "org.example.A", "Java classes cannot be loaded"),
        ("client.quota.callback.class", "org.example.A", "Java classes cannot be loaded"),
        ("principal.builder.class", "org.example.A", "Java classes cannot be loaded"),
        ("delegation.token.secret.key", "hidden-value", "Delegation tokens are not supported."),
        ("delegation.token.master.key", "hidden-value", "Delegation tokens are not supported."),
        ("config.providers", "file", "Values of configuration providers are not looked up."),
        ("connections.max.reauth.ms", "1000", "SASL is not supported"),
        ("security.providers", "org.example.A", "Security providers of Java cannot be loaded."),
        ("replica.selector.class", "org.example.Selector", "org.example.Selector cannot be loaded."),
        ("zookeeper.metadata.migration.enable", "true", "This node cannot migrate a cluster from ZooKeeper."),
    ],
)
def test_what_somebody_would_rely_on_is_rejected(key: str, value: str, reason: str, tmp_path: Path) -> None:
    first, second = errors(tmp_path, lines({**COMBINED, key: value})).splitlines()
    assert first.startswith(f"server.properties:7: {key}: {reason}")
    assert second.startswith("  ") and "hidden-value" not in first + second


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("remote.log.storage.system.enable", "false"),
        ("sasl.enabled.mechanisms", "GSSAPI"),
        ("ssl.client.auth", "none"),
        ("ssl.keystore.location", ""),
        ("authorizer.class.name", ""),
        ("connections.max.reauth.ms", "0"),
        ("replica.selector.class", "org.apache.kafka.common.replica.RackAwareReplicaSelector"),
        ("zookeeper.metadata.migration.enable", "false"),
        ("log.preallocate", "false"),
        ("metric.reporters", ""),
    ],
)
def test_a_value_that_asks_for_nothing_is_taken_silently(key: str, value: str, tmp_path: Path) -> None:
    assert loaded_warnings(tmp_path, lines({**COMBINED, key: value})) == []


def test_a_setting_that_something_else_replaces_has_a_warning_of_its_own(tmp_path: Path) -> None:
    text = lines({**COMBINED, "metric.reporters": "org.example.R", "inter.broker.protocol.version": "3.9"})
    reporters, version = loaded_warnings(tmp_path, text)
    assert reporters.startswith("server.properties:7: metric.reporters: it has no effect: Java classes cannot be")
    assert reporters.endswith("Set odradek.admin.listener=host:port and scrape /metrics instead.")
    assert "server.properties:8: inter.broker.protocol.version: it has no effect: removed in" in version


def test_a_file_for_zookeeper_mode_gets_one_error_that_says_so(tmp_path: Path) -> None:
    text = "broker.id=0\nlisteners=PLAINTEXT://:9092\nzookeeper.connect=localhost:2181\nlog.dirs=/tmp/x\n"
    first, second, *others = errors(tmp_path, text).splitlines()
    assert first == "server.properties:3: zookeeper.connect: ZooKeeper mode is not supported."
    assert second.startswith("  Set process.roles=broker,controller and controller.quorum.bootstrap.servers=")
    assert others == []


def test_a_setting_of_zookeeper_in_a_file_with_roles_is_a_warning(tmp_path: Path) -> None:
    (warning,) = loaded_warnings(tmp_path, lines({**COMBINED, "zookeeper.connect": "localhost:2181"}))
    assert warning.startswith("server.properties:7: zookeeper.connect: it has no effect: this node has no ZooKeeper")


@pytest.mark.parametrize("protocol", ["SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def test_a_listener_with_a_protocol_that_is_not_spoken_is_rejected(protocol: str, tmp_path: Path) -> None:
    values = {
        **BROKER,
        "listeners": "CLIENTS://localhost:9092",
        "listener.security.protocol.map": f"CLIENTS:{protocol},CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "CLIENTS",
    }
    problems = errors(tmp_path, lines(values))
    assert f": listeners: the listener CLIENTS asks for {protocol}, and only PLAINTEXT is supported." in problems


def test_controllers_behind_tls_are_rejected(tmp_path: Path) -> None:
    values = {**BROKER, "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SSL"}
    assert ": controller.listener.names: the listener CONTROLLER asks for SSL" in errors(tmp_path, lines(values))


def test_all_rejections_are_told_at_once(tmp_path: Path) -> None:
    text = lines({**COMBINED, "ssl.keystore.location": "/x", "num.partitions": "0", "sasl.jaas.config": "y"})
    keys = [line.split(": ")[1] for line in errors(tmp_path, text).splitlines() if not line.startswith(" ")]
    assert keys == ["num.partitions", "ssl.keystore.location", "sasl.jaas.config"]
