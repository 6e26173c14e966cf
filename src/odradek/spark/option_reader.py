"""Options of a source or a sink, which Spark passes as text, by name in any case. Pure.

An unknown option is rejected, with the closest name that exists. Options that begin with `kafka.` are settings of the
client.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from odradek.client.settings.parsing import Kind, definitions
from odradek.common.failures import InputError
from odradek.common.topic_names import name_problem

#: The largest offset and timestamp.
INT64_MAX = 2**63 - 1

#: Options that Spark itself sets for every source and sink.
_SPARK_OPTIONS = ("path", "checkpointLocation", "queryName", "mergeSchema", "truncate", "pipelines.autoRun")

_SETTING_PREFIX = "kafka."
_BOOTSTRAP = "kafka.bootstrap.servers"


class OptionReader:
    """Typed access to the options of one source or sink."""

    def __init__(
        self, options: Mapping[str, str], option_names: tuple[str, ...], fixed_settings: Mapping[str, str]
    ) -> None:
        """Raise InputError for a name that is neither in `option_names` nor Spark's own.

        `fixed_settings` has the settings of the client that the source or sink sets itself, each with advice."""
        self._options = {name.lower(): value for name, value in options.items()}
        _check_names(options, option_names)
        for name, advice in fixed_settings.items():
            if name in self._options:
                raise InputError(f"{name} cannot be set: {advice}")

    def get(self, name: str) -> str | None:
        value = self._options.get(name.lower())
        return None if value is None else value.strip()

    def optional_integer(self, name: str) -> int | None:
        """Return a number of at least 1, or None if the option is not set."""
        return None if self.get(name) is None else self.integer(name, 1, minimum=1)

    def integer(self, name: str, default: int, *, minimum: int = 0) -> int:
        text = self.get(name)
        if text is None:
            return default
        if not text.isdecimal() or not minimum <= int(text) <= INT64_MAX:
            raise InputError(f"{name}: {text!r} is not an integer of at least {minimum}")
        return int(text)

    def flag(self, name: str, default: bool) -> bool:
        text = self.get(name)
        if text is None:
            return default
        if text.lower() not in ("true", "false"):
            raise InputError(f"{name}: {text!r} is neither true nor false")
        return text.lower() == "true"

    def client_settings(self) -> dict[str, str]:
        """Return the settings of the client by Kafka's names. Raise InputError without bootstrap servers."""
        if not self.get(_BOOTSTRAP):
            raise InputError(f"{_BOOTSTRAP} is missing: set host:port of at least one broker, such as localhost:9092")
        return {
            name[len(_SETTING_PREFIX) :]: value
            for name, value in self._options.items()
            if name.startswith(_SETTING_PREFIX)
        }


def check_topics(option: str, topics: Iterable[str]) -> None:
    """Raise InputError for names that no topic can have."""
    for topic in topics:
        problem = name_problem(topic)
        if problem is not None:
            raise InputError(f"{option}: invalid topic name: {problem}")


def _check_names(options: Mapping[str, str], option_names: tuple[str, ...]) -> None:
    valid_names = {name.lower(): name for name in (*option_names, *_SPARK_OPTIONS)}
    for name in options:
        if name.lower() in valid_names or name.lower().startswith(_SETTING_PREFIX):
            continue
        raise InputError(f"unknown option {name}{_suggestion(name, valid_names, option_names)}")


def _suggestion(name: str, valid_names: Mapping[str, str], option_names: tuple[str, ...]) -> str:
    if any(name.lower() in definitions(client) for client in (Kind.CONSUMER, Kind.PRODUCER)):
        return f". Did you mean {_SETTING_PREFIX}{name.lower()}?"
    close_matches = get_close_matches(name.lower(), valid_names, n=1, cutoff=0.6)
    if close_matches:
        return f". Did you mean {valid_names[close_matches[0]]}?"
    return f"; valid options are {', '.join(sorted(option_names))}, and {_SETTING_PREFIX}… for settings of the client"
