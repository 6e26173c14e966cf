"""Metadata as text: a tree with a node per line, and compact JSON."""

from collections.abc import Iterator
from typing import Any

from odradek.cli.commands.metadata.image_tree import Leaf, Node, sorted_names
from odradek.common.printable import dump_json, printable, printable_json

_INDENT = "  "

#: Longer JSON is split into several lines.
_COLUMNS = 100


def tree_lines(node: Node, indent: str = "") -> Iterator[str]:
    """Yield a line for each node; a leaf with its non-empty fields."""
    if isinstance(node, Leaf):
        yield indent + _content_text(node.content)
        return
    children = node.children()
    for name in sorted_names(children):
        child = children[name]
        if isinstance(child, Leaf):
            yield f"{indent}{printable(name)}: {_content_text(child.content)}"
        else:
            yield f"{indent}{printable(name)}/"
            yield from tree_lines(child, indent + _INDENT)


def pretty_json(content: Any, indent: str = "") -> str:
    """Return JSON, split at its outermost commas if it is too long for a line."""
    text = printable_json(content)
    if len(indent) + len(text) <= _COLUMNS or not isinstance(content, dict | list):
        return text
    inner = indent + _INDENT
    if isinstance(content, list):
        return "[\n" + ",\n".join(inner + pretty_json(element, inner) for element in content) + f"\n{indent}]"
    members = (f"{inner}{printable_json(name)}: {pretty_json(value, inner)}" for name, value in content.items())
    return "{\n" + ",\n".join(members) + f"\n{indent}}}"


def _content_text(content: Any) -> str:
    if isinstance(content, dict):
        return " ".join(
            f"{name}={_value_text(value)}" for name, value in content.items() if value not in (None, [], {})
        )
    return _value_text(content)


def _value_text(value: Any) -> str:
    """Return JSON without quotes and spaces. Integers are checked first, being the most frequent."""
    if type(value) is int:
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{name}:{_value_text(element)}" for name, element in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_value_text, value)) + "]"
    return printable(value) if isinstance(value, str) else dump_json(value)
