"""Generated files are what the tool makes of the committed facts."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from odradek.protocol import registry
from odradek.protocol.codec import schema_of
from odradek.protocol.message_index import MESSAGES
from odradek.protocol.schema import snake_case

ROOT = Path(__file__).parents[3]
PROTOCOL = ROOT / "src" / "odradek" / "protocol"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_messages", ROOT / "tools" / "make_messages.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_sources_are_up_to_date(tool: ModuleType) -> None:
    made = tool.sources()
    stale = [path for path, text in made.items() if (PROTOCOL / path).read_text() != text]
    assert stale == [], "run tools/make_messages.py sources"
    there = {f"messages/{path.name}" for path in (PROTOCOL / "messages").glob("*.py")}
    assert there == {path for path in made if path.startswith("messages/")}


def test_the_index_agrees_with_the_classes() -> None:
    for name, (kind, module, key, first, last) in MESSAGES.items():
        cls = registry.message_class(name)
        schema = schema_of(cls)
        assert (schema.kind, schema.module, schema.key, *schema.versions) == (kind, module, key, first, last)
        assert cls.__module__ == f"odradek.protocol.messages.{snake_case(name)}"
        assert key == cls.API_KEY and (first, last) == cls.VERSIONS
        assert (schema.flexible.first if schema.flexible.last >= 0 else 32768) == cls.FLEXIBLE_FROM


def test_defaults_of_classes_and_of_facts_agree() -> None:
    """A fresh message is at its default everywhere, so any version can write it, as far as null is allowed."""
    from odradek.protocol.encode_errors import is_default

    for name in registry.message_names():
        cls = registry.message_class(name)
        schema, fresh = schema_of(cls), cls()
        assert [field.name for field in schema.fields] == list(cls.field_names()[:-1])
        assert all(is_default(schema, field, getattr(fresh, field.name)) for field in schema.fields), name
