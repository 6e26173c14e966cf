"""How metadata looks to people: a tree a line a node, and JSON that is not longer than it must be."""

from collections.abc import Iterator
from typing import Any

from odradek.cli.commands.metadata.image_tree import Leaf, Node, sorted_names
from odradek.common.printable import dump_json, printable, printable_json

_INDENT = "  "

#: What fits stays on one line.
_COLUMNS = 100


def tree_lines(node: Node, indent: str = "") -> Iterator[str]:
    """A directory a line, a leaf a line; what a leaf holds stands behind its name, without what is empty."""
    if isinstance(node, Leaf):
        yield indent + _shown(node.content)
        return
    children = node.children()
    for name in sorted_names(children):
        child = children[name]
        if isinstance(child, Leaf):
            yield f"{indent}{printable(name)}: {_shown(child.content)}"
        else:
            yield f"{indent}{printable(name)}/"
            yield from tree_lines(child, indent + _INDENT)


def pretty_json(content: Any, indent: str = "") -> str:
    """What is too long for a line is broken at its outermost commas."""
    text = printable_json(content)
    if len(indent) + len(text) <= _COLUMNS or not isinstance(content, dict | list):
        return text
    inner = indent + _INDENT
    if isinstance(content, list):
        return "[\n" + ",\n".join(inner + pretty_json(each, inner) for each in content) + f"\n{indent}]"
    members = (f"{inner}{printable_json(name)}: {pretty_json(each, inner)}" for name, each in content.items())
    return "{\n" + ",\n".join(members) + f"\n{indent}}}"


def _shown(content: Any) -> str:
    if isinstance(content, dict):
        return " ".join(f"{name}={_short(value)}" for name, value in content.items() if value not in (None, [], {}))
    return _short(content)


def _short(value: Any) -> str:
    """JSON without its quotes and spaces. Whole numbers come first: most of a tree are."""
    if type(value) is int:
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{name}:{_short(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_short, value)) + "]"
    return printable(value) if isinstance(value, str) else dump_json(value)
