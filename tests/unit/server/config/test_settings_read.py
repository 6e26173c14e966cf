"""A setting that is listed as effective is read by a running node, and one that is listed as without effect is not."""

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

from odradek.common.config_definition import read_table
from odradek.common.config_support import Level
from odradek.common.files import OsFileSystem
from odradek.common.tables.topic_settings import TOPIC_SETTINGS
from odradek.metadata.configs import support as config_support
from odradek.metadata.configs import tables
from odradek.metadata.configs.groups import validate_group
from odradek.metadata.internal_topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from odradek.server.config.server_config import load_server_config
from odradek.server.config.settings import Settings
from odradek.server.links import topic_creation
from support.processes.network import run
from support.processes.node import combined_config, running

SOURCE = Path(__file__).parents[4] / "src" / "odradek"

#: Reading a setting in one of these only checks it.
CHECKS = ("setting_relations.py", "role_rules.py", "dynamic_rules.py", "support_checks.py", "settings.py")

#: A function of the checks that also returns what it has parsed.
PARSER = "per_ip_overrides"

#: Read when a request comes, by the handler that names it.
IN_HANDLERS = {
    "delete.topic.enable": "api/handlers/delete_topics.py",
    "max.request.partition.size.limit": "api/handlers/describe_topic_partitions.py",
}

#: Looked up as bounds of settings of groups that have no effect themselves.
BOUNDS_ONLY = ("group.share.", "group.streams.")

#: Read on behalf of parts that no listener uses: a limit of connections that have not authenticated yet.
READ_WITHOUT_EFFECT = {"sasl.server.max.receive.size"}


#: Fields of `LogConfig` that are made of one setting and used in its place.
DERIVED_FIELDS = {"cleanup.policy": ("compact", "delete"), "message.timestamp.type": ("log_append_time",)}


class Recorder:
    """Names of settings that were asked for by anything but a check."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def note(self, name: Any) -> None:
        frame = sys._getframe(2)
        while frame.f_code.co_name == PARSER or Path(frame.f_code.co_filename).name == "settings.py":
            assert frame.f_back is not None
            frame = frame.f_back
        if Path(frame.f_code.co_filename).name not in CHECKS:
            self.names.add(name)


class RecordedValues(dict[str, str]):
    recorder: Recorder

    def __contains__(self, name: object) -> bool:
        self.recorder.note(name)
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.recorder.note(name)
        return super().get(name, default)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    optional_text, is_given, given = Settings.optional_text, Settings.is_given, Settings.given.fget
    assert given is not None

    def recording_text(self: Settings, key: str) -> str | None:
        recorder.note(key)
        return optional_text(self, key)

    def recording_given(self: Settings) -> dict[str, str]:
        values = RecordedValues(given(self))
        values.recorder = recorder
        return values

    def recording_is_given(self: Settings, key: str) -> bool:
        recorder.note(key)
        return is_given(self, key)

    monkeypatch.setattr(Settings, "optional_text", recording_text)
    monkeypatch.setattr(Settings, "is_given", recording_is_given)
    monkeypatch.setattr(Settings, "given", property(recording_given))
    return recorder


def read_by_a_node(recorder: Recorder, directory: Path) -> set[str]:
    config = combined_config(directory)
    text = Path(config.settings.path).read_text()
    (directory / "one-dir.properties").write_text(text.replace("log.dirs=", "log.dir="))
    load_server_config(OsFileSystem(), str(directory / "one-dir.properties"))

    async def start_and_stop() -> None:
        async with running(config):
            for topic in (CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE, "other"):
                topic_creation._creatable(topic, config.settings)
            validate_group({"consumer.assignment.interval.ms": "1000"}, config.settings.given)

    run(start_and_stop())
    return recorder.names


@pytest.mark.slow
def test_settings_are_read_exactly_if_they_are_listed_as_effective(recorder: Recorder, tmp_path: Path) -> None:
    names = read_by_a_node(recorder, tmp_path)
    for name, module in IN_HANDLERS.items():
        assert f'"{name}"' in (SOURCE / module).read_text()
    unread, ignored = set(), set()
    for name in read_table(tables.BROKER):
        support = config_support.BROKER.find(name)
        assert support is not None
        if support.level is Level.EFFECTIVE and name not in names and name not in IN_HANDLERS:
            unread.add(name)
        elif support.level is not Level.EFFECTIVE and name in names and not name.startswith(BOUNDS_ONLY):
            ignored.add(name)
    assert unread == set()
    assert ignored == READ_WITHOUT_EFFECT | topic_defaults_without_effect()


def topic_defaults_without_effect() -> set[str]:
    """A topic's settings are all looked up; these are stored in its `LogConfig` and not used there."""
    return {"log.local.retention.bytes", "log.local.retention.ms", "log.preallocate"}


def test_settings_of_topics_are_used_exactly_if_they_are_listed_as_effective() -> None:
    used = {
        node.attr
        for path in SOURCE.rglob("*.py")
        if path != SOURCE / "log" / "log_config.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
    }
    by_controller = {"unclean.leader.election.enable"}
    for name in TOPIC_SETTINGS:
        support = config_support.TOPIC.find(name)
        assert support is not None
        fields = DERIVED_FIELDS.get(name, (name.replace(".", "_"),))
        is_used = name in by_controller or used.issuperset(fields)
        assert is_used == (support.level is Level.EFFECTIVE), name


def test_settings_of_groups_are_read_if_they_are_listed_as_effective() -> None:
    text = (SOURCE / "coordinator" / "group" / "consumer" / "settings.py").read_text()
    for name in read_table(tables.GROUP):
        support = config_support.GROUP.find(name)
        assert support is not None
        assert (f'"{name}"' in text) == (support.level is Level.EFFECTIVE), name
