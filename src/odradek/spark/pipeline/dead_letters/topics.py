"""The dead-letter topics of a project, and the settings of clients for the cluster that has them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from odradek.client.settings.parsing import Kind as ClientKind
from odradek.client.settings.parsing import definitions
from odradek.common.failures import InputError
from odradek.spark.pipeline.definitions import Definitions, dead_letter_uses, read_definitions, uses_of
from odradek.spark.pipeline.project import Project
from odradek.spark.pipeline.topics import client_settings
from odradek.spark.pipeline.uses import Kind

_BOOTSTRAP = "bootstrap.servers"
_ISOLATION = "isolation.level"

#: Settings of a sink's producer that a replay chooses itself.
_CHOSEN = ("acks", "enable.idempotence", "linger.ms", "batch.size", "transactional.id", "client.id")


@dataclass(frozen=True, slots=True)
class LetterTopics:
    """Dead-letter topics of one cluster."""

    topics: tuple[str, ...]
    #: By Kafka's names, of any kind of client.
    settings: Mapping[str, str]

    @property
    def bootstrap(self) -> str:
        return self.settings.get(_BOOTSTRAP, "")

    def client_config(self, kind: ClientKind, overrides: Mapping[str, object]) -> dict[str, object]:
        """`chosen` settings take precedence over those of the project."""
        definitions_by_name = definitions(kind)
        own = {
            name: value for name, value in self.settings.items() if name in definitions_by_name and name not in _CHOSEN
        }
        return {**own, **overrides}


def group_of(project: Project) -> str:
    """The consumer group whose offsets say which letters have been handled."""
    return f"{project.name}-dead-letters"


def find_letter_topics(
    project: Project, selected: Sequence[str], overrides: Mapping[str, str] | None = None
) -> list[LetterTopics]:
    """The dead-letter topics of the project by cluster, or the `selected` topics. `overrides` are settings of clients
    that take precedence over those of the project, such as bootstrap.servers.

    Raises InputError where there are none."""
    definitions_of_project = read_definitions(project)
    by_topic = _settings_by_topic(definitions_of_project)
    for topic in selected:
        # Not written by this project, such as one of a service: it is expected on the project's cluster.
        by_topic.setdefault(topic, _any_settings(definitions_of_project))
    settings_by_topic = {topic: settings for topic, settings in by_topic.items() if not selected or topic in selected}
    if not settings_by_topic:
        raise InputError(
            f"{project.name} has no dead-letter topic: no sink that rejected rows go to, and none whose topic ends in "
            ".dead; name one with --topic"
        )
    clusters: dict[str, tuple[list[str], dict[str, str]]] = {}
    for topic, settings in settings_by_topic.items():
        settings = {**settings, **(overrides or {})}
        if _BOOTSTRAP not in settings:
            raise InputError(f"the brokers of topic {topic} cannot be seen in the definitions; name them with -b")
        clusters.setdefault(settings[_BOOTSTRAP], ([], settings))[0].append(topic)
    return [LetterTopics(tuple(topics), settings) for topics, settings in clusters.values()]


def uncommitted_readers(project: Project, topics: Iterable[str]) -> list[str]:
    """Definitions that read one of the topics and may see records of aborted transactions, as FILE:LINE reads TOPIC."""
    topic_names = set(topics)
    readers = []
    for file in read_definitions(project):
        for use in file.contents.uses:
            read = {topic.strip() for topic in use.options.get("subscribe", "").split(",")} & topic_names
            if use.kind is Kind.SINK or not read:
                continue
            if client_settings(use.options).get(_ISOLATION, "") != "read_committed":
                path = file.path.relative_to(project.directory)
                readers.append(f"{path}:{use.line} reads {', '.join(sorted(read))}")
    return readers


def _settings_by_topic(files: list[Definitions]) -> dict[str, dict[str, str]]:
    by_topic: dict[str, dict[str, str]] = {}
    for use in dead_letter_uses(files):
        by_topic.setdefault(use.options["topic"], client_settings(use.options))
    return by_topic


def _any_settings(files: list[Definitions]) -> dict[str, str]:
    return next((settings for use in uses_of(files) if _BOOTSTRAP in (settings := client_settings(use.options))), {})
