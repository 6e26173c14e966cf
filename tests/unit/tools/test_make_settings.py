"""The table of clients' settings, as it is made from Kafka's facts."""

import importlib.util
from pathlib import Path
from typing import Any

TOOL = Path(__file__).parents[3] / "tools" / "make_settings.py"


def load() -> Any:
    spec = importlib.util.spec_from_file_location("make_settings", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_line_a_setting() -> None:
    facts = {
        kind: {
            "z.ms": {"type": "long", "default": 5, "valid": "[0,...]"},
            "a.list": {"type": "list", "default": ["class b.C", "d"]},
            "b.none": {"type": "string", "default": None},
            "c.empty": {"type": "string", "default": ""},
            "d.yes": {"type": "boolean", "default": True},
        }
        for kind in ("producer", "consumer", "admin")
    }
    made = load().table(facts)
    assert 'ADMIN = """\\\na.list | list | b.C,d\nb.none | string | null\nc.empty | string |\n' in made
    assert "d.yes | boolean | true\nz.ms | long | 5 | [0,...]\n" in made
