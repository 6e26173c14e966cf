"""What a template consists of, and how a project is made of it. Pure.

Texts have placeholders such as @TOPIC@, which are replaced by the names that the user chose.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Template:
    name: str
    #: One line for `init --template list`.
    summary: str
    #: The topic that is read unless `--topic` names another one.
    default_topic: str
    #: Topics that the project reads and writes, in the order in which `init` creates them.
    topics: tuple[str, ...]
    #: Texts by path in the project.
    files: Mapping[str, str]
    #: Topics to which sample events are sent, by the name of the file that has them.
    samples: Mapping[str, str]
    #: A command that shows the result of a run; @PROJECT@ is the directory, quoted for a shell.
    result: str

    def project(self, name: str, topic: str, bootstrap: str) -> "ProjectText":
        return ProjectText(self, {"NAME": name, "TOPIC": topic, "BOOTSTRAP": bootstrap})


@dataclass(frozen=True, slots=True)
class ProjectText:
    """A template with the user's names in it."""

    template: Template
    names: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.names["NAME"]

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(self._fill(topic) for topic in self.template.topics)

    @property
    def samples(self) -> dict[str, str]:
        return {path: self._fill(topic) for path, topic in self.template.samples.items()}

    def files(self) -> dict[str, str]:
        return {path: self._fill(text) for path, text in self.template.files.items()}

    def result(self, directory: str) -> str:
        return self._fill(self.template.result).replace("@PROJECT@", directory)

    def _fill(self, text: str) -> str:
        for placeholder, value in self.names.items():
            text = text.replace(f"@{placeholder}@", value)
        return text
