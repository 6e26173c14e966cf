"""Make the table of what producers, consumers and admin clients may be told.

    tools/make_settings.py DIRECTORY     Kafka's facts (configs.json) into src/odradek/client/settings/table.py

Needed when Kafka's settings change.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[1] / "src" / "odradek" / "client" / "settings" / "table.py"

HEAD = '''# ruff: noqa: E501
"""Every setting of a producer, a consumer and an admin client. Made by tools/make_settings.py.

One line a setting: name | type | default | valid values. "null" is the default that is no value, "<required>" that of a
setting that must be given. Facts of Apache Kafka 4.3.1.
"""
'''


def line(name: str, facts: Mapping[str, Any]) -> str:
    parts = [name, facts["type"], text(facts["default"]), facts.get("valid", "")]
    return " | ".join(parts if parts[3] else parts[:3]).rstrip()


def text(default: Any) -> str:
    if isinstance(default, list):
        return ",".join(each.removeprefix("class ") for each in default)
    if default is None or isinstance(default, bool):
        return {None: "null", True: "true", False: "false"}[default]
    return str(default)


def table(configs: Mapping[str, Mapping[str, Any]]) -> str:
    kinds = []
    for kind in ("producer", "consumer", "admin"):
        lines = "".join(f"{line(name, facts)}\n" for name, facts in sorted(configs[kind].items()))
        kinds.append(f'\n{kind.upper()} = """\\\n{lines}"""\n')
    return HEAD + "".join(kinds)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    TABLE.write_text(table(json.loads((Path(sys.argv[1]) / "configs.json").read_text())))


if __name__ == "__main__":
    main()
