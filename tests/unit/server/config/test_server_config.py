from pathlib import Path

import pytest

from odradek.common.addresses import HostPort
from odradek.common.failures import InputError
from odradek.common.files import OsFileSystem
from odradek.metadata.configs.definitions import definitions
from odradek.protocol.config_types import ConfigResourceType
from odradek.server.config.endpoints import Listener, VoterAddress
from odradek.server.config.server_config import ServerConfig, load_server_config
from odradek.server.config.settings import OWN
from support.oracles.config_cases import BROKER, CASES, COMBINED, CONTROLLER, Case
from support.peers import jvm

ROOT = Path(__file__).parents[4]


def load(tmp_path: Path, text: str, *overrides: str) -> ServerConfig:
    path = tmp_path / "server.properties"
    path.write_text(text)
    return load_server_config(OsFileSystem(), str(path), overrides)


def errors(tmp_path: Path, text: str, *overrides: str) -> str:
    with pytest.raises(InputError) as caught:
        load(tmp_path, text, *overrides)
    return str(caught.value).replace(f"{tmp_path}/", "")


def lines(values: dict[str, str]) -> str:
    return "".join(f"{key}={value}\n" for key, value in values.items())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_case_is_taken_or_refused_by_its_key(case: Case, tmp_path: Path) -> None:
    if case.key is None:
        load(tmp_path, case.text)
    else:
        found = errors(tmp_path, case.text)
        assert f": {case.key}: " in found.splitlines()[0]


@pytest.mark.peer
@pytest.mark.slow
def test_apache_kafka_gives_the_same_verdicts(tmp_path: Path) -> None:
    for number, case in enumerate(CASES):
        (tmp_path / f"{number:03}").write_text(case.text)
    source = ROOT / "tests" / "support" / "peers" / "KafkaConfigVerdicts.java"
    said = jvm.run(source, str(tmp_path))
    rows = [line.split("\t") for line in said.splitlines() if line.startswith("verdict\t")]
    verdicts = {CASES[int(number)].name: verdict for _, number, verdict in rows}
    assert len(verdicts) == len(CASES)
    differing = {
        case.name: verdicts[case.name] for case in CASES if (verdicts[case.name] == "ok") != (case.key is None)
    }
    assert differing == {}


def test_an_error_names_file_line_key_what_was_found_and_what_is_right(tmp_path: Path) -> None:
    assert errors(tmp_path, lines({**COMBINED, "controller.quorum.voters": "1@localhost"})) == (
        'server.properties:6: controller.quorum.voters: "1@localhost" has no port.\n'
        "  Each voter is id@host:port, separated by commas, for example 1@localhost:9093."
    )
    assert errors(tmp_path, lines({**COMBINED, "num.partitions": "0"})) == (
        'server.properties:7: num.partitions: "0": Value must be at least 1.\n'
        "  It is a whole number, [1,...]; 1 unless set."
    )


def test_all_errors_are_told_at_once(tmp_path: Path) -> None:
    found = errors(tmp_path, "process.roles=boss\nnode.id=x\nlisteners=here\nnum.partitions=-4\nlog.dirs=,\n")
    keys = [line.split(": ")[1] for line in found.splitlines() if not line.startswith(" ")]
    assert keys == [
        *("node.id", "num.partitions", "log.dirs", "process.roles"),
        *("controller.quorum.bootstrap.servers", "listeners"),
    ]


def test_an_override_counts_more_than_the_file_and_is_named_in_errors(tmp_path: Path) -> None:
    assert load(tmp_path, lines(COMBINED), "num.partitions=7", "node.id=1").settings.whole("num.partitions") == 7
    assert errors(tmp_path, lines(COMBINED), "num.partitions=x").startswith('--override: num.partitions: "x": ')
    assert "key=value" in errors(tmp_path, lines(COMBINED), "num.partitions")


def test_unknown_and_doubled_settings_are_warned_about(tmp_path: Path) -> None:
    config = load(tmp_path, lines(COMBINED) + "num.partition=3\nnode.id=1\nlistener.name.x.y=1\n")
    assert [warning.replace(f"{tmp_path}/", "") for warning in config.warnings] == [
        "server.properties:8: node.id: it is set on line 1 too; this one counts.",
        "server.properties:7: num.partition: unknown setting, ignored. Did you mean num.partitions?",
        "server.properties:9: listener.name.x.y: it has no effect: settings of a single listener are not supported. "
        "Set it without listener.name.….",
    ]


def test_the_values_of_a_combined_node(tmp_path: Path) -> None:
    config = load(tmp_path, lines({**COMBINED, "broker.rack": "r1", "controller.quorum.fetch.timeout.ms": "777"}))
    client = Listener("PLAINTEXT", "PLAINTEXT", "localhost", 9092)
    controller = Listener("CONTROLLER", "PLAINTEXT", "localhost", 9093)
    assert config.is_broker and config.is_controller
    assert config.listeners.bound == (client, controller)
    assert config.listeners.for_clients == config.listeners.advertised_to_clients == (client,)
    assert config.listeners.for_controllers == config.listeners.advertised_to_controllers == (controller,)
    assert config.listeners.inter_broker_name == "PLAINTEXT"
    assert config.voters == (VoterAddress(1, HostPort("localhost", 9093)),)
    assert config.log_dirs == config.all_dirs == ("/tmp/nowhere",)
    assert config.metadata_log_dir == "/tmp/nowhere"
    assert config.rack == "r1"
    assert config.quorum().fetch_timeout_ms == 777
    assert config.broker_disconnect_grace_ms == 300
    assert config.settings.boolean("auto.create.topics.enable")
    assert config.settings.real("log.cleaner.min.cleanable.ratio") == 0.5


def test_records_linger_only_where_the_file_says_so(tmp_path: Path) -> None:
    assert load(tmp_path, lines(COMBINED)).quorum().append_linger_ms == 0
    asked = {**COMBINED, "controller.quorum.append.linger.ms": "25"}
    assert load(tmp_path, lines(asked)).quorum().append_linger_ms == 25


def test_a_broker_knows_controllers_by_address_only(tmp_path: Path) -> None:
    config = load(tmp_path, lines({**BROKER, "metadata.log.dir": "/tmp/meta/"}))
    assert config.voters == () and config.bootstrap_servers == (HostPort("localhost", 9093),)
    assert config.listeners.for_controllers == ()
    assert config.all_dirs == ("/tmp/meta", "/tmp/nowhere")


def test_a_controller_on_every_address_advertises_what_the_voters_say(tmp_path: Path) -> None:
    values = {**CONTROLLER, "listeners": "CONTROLLER://0.0.0.0:9093", "controller.quorum.voters": "1@here:9999"}
    (told,) = load(tmp_path, lines(values)).listeners.advertised_to_controllers
    assert (told.host, told.port) == ("here", 9999)
    del values["controller.quorum.voters"]
    (told,) = load(
        tmp_path, lines({**values, "controller.quorum.bootstrap.servers": "here:1"})
    ).listeners.advertised_to_controllers
    assert (told.host, told.port) == ("", 9093)


@pytest.mark.parametrize(
    "text", ["2@localhost:9093,2@localhost:9094", "1@0.0.0.0:9093", "1@:9093", "1@localhost:70000"]
)
def test_voters_that_kafka_takes_and_nobody_can_use(text: str, tmp_path: Path) -> None:
    assert "controller.quorum.voters" in errors(tmp_path, lines({**COMBINED, "controller.quorum.voters": text}))


def test_every_setting_of_the_table_is_known(tmp_path: Path) -> None:
    config = load(tmp_path, lines(COMBINED))
    for name, definition in {**definitions(ConfigResourceType.BROKER), **OWN}.items():
        if name not in COMBINED:
            assert config.settings.optional_text(name) == definition.default


@pytest.mark.parametrize("name", ["server", "controller", "broker"])
def test_the_files_to_start_from_are_right_without_a_warning(name: str) -> None:
    config = load_server_config(OsFileSystem(), str(ROOT / "config" / f"{name}.properties"))
    assert config.warnings == ()


@pytest.mark.parametrize("name", ["node.id", "broker.id"])
def test_the_id_of_a_node_has_two_names(name: str, tmp_path: Path) -> None:
    text = lines({key: value for key, value in BROKER.items() if key != "node.id"} | {name: "7"})
    given = load(tmp_path, text).settings.given
    assert given["node.id"] == given["broker.id"] == "7"
