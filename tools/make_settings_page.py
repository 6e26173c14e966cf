"""Write docs/settings.md from the tables of settings: which have an effect, which have none, which are rejected.

python tools/make_settings_page.py            writes it
python tools/make_settings_page.py --check    fails if it is not what would be written
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from odradek.client.settings.parsing import Kind, definitions
from odradek.client.settings.support import client_support
from odradek.common.config_definition import ConfigDefinition, read_table
from odradek.common.config_support import Level, Support
from odradek.metadata.configs import support as config_support
from odradek.metadata.configs import tables
from odradek.server.config.settings import OWN

PATH = Path(__file__).parents[1] / "docs" / "settings.md"

HEAD = """# Settings

Made by `tools/make_settings_page.py` from the tables in the code; a test makes it again. Names, types and defaults are
those of Apache Kafka 4.3.1. Each setting

- has an **effect**: it does what it does in Apache Kafka;
- has **no effect**: it is accepted, and reported when it is given: in a node's file by one warning at the start, if it
  is set while nodes run by a line of each broker's log, by clients in the logger `odradek.client`;
- is **rejected**: whoever set it would rely on something that is not there, mostly on security. A node does not start,
  a change is answered with INVALID_CONFIG, a client is not made. The default and an empty value ask for nothing and are
  accepted.

An unknown name in a node's file is ignored with a warning that suggests the likely name, and so is one in the file of
`--command-config`; Apache Kafka ignores them too. Clients in Python refuse an unknown name. All errors of a node's file
are reported at once, with file and line, before a port is bound:

```
odradek: server.properties:7: ssl.keystore.location: TLS is not supported.
odradek:   Listeners speak PLAINTEXT; protect them by the network. See docs/settings.md.
```

Quotas of clients, users and addresses are stored, described and not enforced; brokers log that when one is set.

"""

Find = Callable[[str], Support | None]


def page() -> str:
    sections = [
        _section("Nodes", "In `server.properties`.", _broker_settings(), config_support.broker_support),
        _section(
            "Nodes, while they run",
            "Rates that belong to what is going on; in a file they are reported as without an effect.",
            read_table(tables.BROKER_DYNAMIC_ONLY),
            config_support.broker_support,
        ),
        _file_only(),
        _removed(),
        _section("Topics", "", read_table(tables.TOPIC), config_support.TOPIC.find),
        _section("Groups", "", read_table(tables.GROUP), config_support.GROUP.find),
        _section("Metrics subscriptions", "", read_table(tables.CLIENT_METRICS), config_support.CLIENT_METRICS.find),
        *(_section(f"{kind.word.capitalize()} clients", "", definitions(kind), client_support) for kind in Kind),
    ]
    return HEAD + "\n".join(sections)


def _broker_settings() -> Mapping[str, ConfigDefinition]:
    return {**read_table(tables.BROKER), **OWN}


def _section(title: str, text: str, settings: Mapping[str, ConfigDefinition], find: Find) -> str:
    rows = list(_rows(settings, find))
    counts = ", ".join(
        f"{sum(row[2] == level for row in rows)} {level}" for level in ("effect", "no effect", "rejected")
    )
    table = _table(("setting", "default", "here", "why, and what instead"), rows)
    return f"## {title}\n\n{text + ' ' if text else ''}{len(rows)} settings: {counts}.\n\n{table}"


def _rows(settings: Mapping[str, ConfigDefinition], find: Find) -> Iterator[tuple[str, ...]]:
    for name, definition in sorted(settings.items()):
        support = find(name)
        if support is None:  # our own: it would not exist without an effect
            yield f"`{name}`", _default(definition), "effect", ""
        else:
            yield f"`{name}`", _default(definition), _level(support), support.sentence


def _level(support: Support) -> str:
    return "effect" if support.level is Level.EFFECTIVE else support.level.value


def _default(definition: ConfigDefinition) -> str:
    return f"`{definition.default}`" if definition.default else ""


def _file_only() -> str:
    rows = [(f"`{name}`", support.sentence) for name, support in sorted(config_support.FILE_ONLY.items())]
    text = "Effective in a file, and without an effect where Apache Kafka takes a change of them while nodes run."
    return f"## Nodes, in a file only\n\n{text}\n\n{_table(('setting', 'why, and what instead'), rows)}"


def _removed() -> str:
    removed = {
        **config_support.REMOVED,
        f"{config_support.LISTENER_PREFIX}…": config_support.LISTENER,
        **{f"{prefix}…": support for prefix, support in config_support.PLUGIN_PREFIXES.items()},
    }
    rows = [(f"`{name}`", _level(support), support.sentence) for name, support in sorted(removed.items())]
    text = (
        "Settings of older versions, of single listeners and of plug-ins. `zookeeper.connect` without `process.roles` "
        "is rejected. Settings of TLS and SASL are rejected for single listeners too."
    )
    table = _table(("setting", "here", "why, and what instead"), rows)
    return f"## Nodes, older and prefixed settings\n\n{text}\n\n{table}"


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = tuple(heads)
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    made = page()
    if "--check" in arguments:
        return 0 if PATH.exists() and PATH.read_text() == made else 1
    PATH.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
