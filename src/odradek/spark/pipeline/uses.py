"""Topics that definitions read and write, found in their text without running it. Pure.

In Python: chains that end in `.format("odradek")…load()` with `option`, `options` and keyword arguments, and
`create_sink(name, "odradek", options)`. A value is seen where it is a literal, a constant of the module, an argument
with which a function of the module is called, an f-string or a sum of such, `os.environ`, or `spark.conf.get` of what
the project's configuration says; other values are not seen, and what depends on them is not checked. In SQL: `USING
odradek OPTIONS (…)`.
"""

import ast
import os
import re
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from enum import Enum

SOURCE = "odradek"

#: Between readStream and load().
_METHODS = ("option", "options", "format", "schema", "load")


class Kind(Enum):
    STREAM = "readStream"
    BATCH = "read"
    SINK = "sink"


@dataclass(frozen=True, slots=True)
class Use:
    line: int
    kind: Kind
    #: What is seen of them.
    options: Mapping[str, str]
    #: Names of those whose values are not seen.
    unseen: frozenset[str] = frozenset()
    #: False where there may be more options than these.
    is_complete: bool = True
    #: Of the sink, or of the function that reads.
    name: str = ""

    @property
    def is_seen(self) -> bool:
        return self.is_complete and not self.unseen


@dataclass(frozen=True, slots=True)
class SchemaUse:
    """A call such as avro(schema_file="orders.avsc") or json("id BIGINT")."""

    line: int
    format: str
    arguments: Mapping[str, str]


#: Of a function: the lines where it is called, and what its arguments are there.
_Calls = list[tuple[int, dict[str, ast.expr]]]


@dataclass(slots=True)
class DefinitionUses:
    uses: list[Use] = field(default_factory=list)
    schemas: list[SchemaUse] = field(default_factory=list)
    #: Formats of tables, with the lines that name them.
    table_formats: dict[str, int] = field(default_factory=dict)
    #: Sinks to which rejected rows go.
    dead_letter_sinks: set[str] = field(default_factory=set)
    #: Lines that define a flow of AUTO CDC.
    auto_cdc: list[int] = field(default_factory=list)


def python_uses(text: str, configuration: Mapping[str, str]) -> DefinitionUses:
    """Raises SyntaxError."""
    tree = ast.parse(text)
    values = _Values(tree, configuration)
    calls = _calls_of_functions(tree)
    uses = DefinitionUses()
    for function, node in _walk(tree, ""):
        if isinstance(node, ast.FunctionDef):
            uses.dead_letter_sinks.update(_rejecting_targets(node, values))
        if isinstance(node, ast.Call):
            _look_at(node, function, values, calls.get(function, []), uses)
    return uses


def _calls_of_functions(tree: ast.Module) -> dict[str, _Calls]:
    """Return the calls of the module's functions, by name."""
    functions = {statement.name: statement.args for statement in tree.body if isinstance(statement, ast.FunctionDef)}
    calls: dict[str, _Calls] = {}
    for _, node in _walk(tree, ""):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
            calls.setdefault(node.func.id, []).append((node.lineno, _arguments(node, functions[node.func.id])))
    return calls


def _arguments(call: ast.Call, parameters: ast.arguments) -> dict[str, ast.expr]:
    names = [argument.arg for argument in parameters.args]
    # What is not seen hides a constant of the same name.
    values: dict[str, ast.expr] = {
        argument.arg: ast.Constant(None) for argument in (*parameters.args, *parameters.kwonlyargs)
    }
    values |= zip(reversed(names), reversed(parameters.defaults), strict=False)
    values |= {
        argument.arg: node for argument, node in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True) if node
    }
    if not any(isinstance(argument, ast.Starred) for argument in call.args):
        values |= zip(names, call.args, strict=False)
    return values | {argument.arg: argument.value for argument in call.keywords if argument.arg is not None}


def _walk(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST]]:
    """Everything, with the function it stands in."""
    for child in ast.iter_child_nodes(node):
        inner = child.name if isinstance(child, ast.FunctionDef) else function
        yield inner, child
        yield from _walk(child, inner)


def _look_at(call: ast.Call, function: str, values: "_Values", calls: _Calls, uses: DefinitionUses) -> None:
    name = _called(call)
    if name in ("load", "create_sink"):
        uses.uses.extend(_topic_uses(call, function, values, calls))
    elif name == "create_auto_cdc_flow":
        uses.auto_cdc.append(call.lineno)
    elif name in ("avro", "protobuf") or ast.unparse(call.func) in values.text_formats:
        uses.schemas.extend(_schema(call, name, values))
    elif name in ("table", "materialized_view", "create_streaming_table"):
        for keyword in call.keywords:
            table_format = values.of(keyword.value) if keyword.arg == "format" else None
            if table_format is not None:
                uses.table_formats.setdefault(table_format.lower(), call.lineno)


def _topic_uses(call: ast.Call, function: str, values: "_Values", calls: _Calls) -> Iterator[Use]:
    """Yield uses of topics; where not all is seen, one for each call of the function around it, whose arguments may
    show more."""
    use = _topic_use(call, function, values)
    if use is None:
        return
    if use.is_seen or not calls:
        yield use
        return
    for line, arguments in calls:
        with_arguments = _topic_use(call, function, values.with_names(arguments))
        yield replace(with_arguments or use, line=line)


def _topic_use(call: ast.Call, function: str, values: "_Values") -> Use | None:
    if _called(call) == "create_sink":
        return _sink(call, values)
    return _reading(call, function, values) if isinstance(call.func, ast.Attribute) else None


def _schema(call: ast.Call, name: str, values: "_Values") -> Iterator[SchemaUse]:
    """Yield schemas in files; of formats whose schemas are Spark's also what is said there."""
    arguments = {keyword.arg: values.of(keyword.value) for keyword in call.keywords if keyword.arg is not None}
    if call.args:
        arguments["message" if name == "protobuf" else "schema"] = values.of(call.args[0])
    seen = {key: value for key, value in arguments.items() if value is not None}
    if name in ("avro", "protobuf"):
        seen.pop("schema", None)
    if not seen.keys().isdisjoint(("schema", "schema_file", "descriptor_file")):
        yield SchemaUse(call.lineno, values.text_formats.get(ast.unparse(call.func), name), seen)


def _text_formats(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """json and csv by the names under which the module calls them: many other things are called so."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or node.module not in ("odradek.spark", "odradek.spark.formats"):
            continue
        for alias in node.names:
            local_name = alias.asname or alias.name
            if node.module == "odradek.spark.formats" and alias.name in ("json", "csv"):
                yield local_name, alias.name
            elif node.module == "odradek.spark" and alias.name == "formats":
                yield from ((f"{local_name}.{name}", name) for name in ("json", "csv"))


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _reading(call: ast.Call, function: str, values: "_Values") -> Use | None:
    """Read a chain from load() back to read or readStream; return None where it does not read from us."""
    options: dict[str, str | None] = {}
    is_complete, formatted = True, _keyword(call, "format", values)
    _add_keywords(call, options, values, without=("format", "path", "schema"))
    node: ast.expr = call.func
    while isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):
        call_before = node.value
        name = _called(call_before)
        if name not in _METHODS:
            return None
        if name == "format" and call_before.args:
            formatted = values.of(call_before.args[0])
        elif name in ("option", "options"):
            is_complete = _add_options(call_before, options, values) and is_complete
        node = call_before.func
    kind = _kind_of(node)
    if kind is None or formatted != SOURCE:
        return None
    return _use(call.lineno, kind, options, is_complete, function)


def _kind_of(node: ast.expr) -> Kind | None:
    """spark.readStream.format(…): the last attribute before the first call."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
        return {"readStream": Kind.STREAM, "read": Kind.BATCH}.get(node.value.attr)
    return None


def _add_options(call: ast.Call, options: dict[str, str | None], values: "_Values") -> bool:
    """Calls further left come earlier and count less. False where some are not seen."""
    if _called(call) == "option":
        name = values.of(call.args[0]) if call.args else None
        if name is None or len(call.args) < 2:
            return False
        options.setdefault(name, values.of(call.args[1]))
        return True
    return _add_keywords(call, options, values)


def _add_keywords(
    call: ast.Call, options: dict[str, str | None], values: "_Values", without: tuple[str, ...] = ()
) -> bool:
    is_complete = True
    for keyword in call.keywords:
        if keyword.arg is None:
            pairs = values.pairs(keyword.value)
            is_complete = is_complete and pairs is not None
            for name, value in (pairs or {}).items():
                options.setdefault(name, value)
        elif keyword.arg not in without:
            options.setdefault(keyword.arg, values.of(keyword.value))
    return is_complete


def _sink(call: ast.Call, values: "_Values") -> Use | None:
    arguments = dict(zip(("name", "format", "options"), call.args, strict=False))
    arguments |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    if "format" not in arguments or values.of(arguments["format"]) != SOURCE:
        return None
    pairs = values.pairs(arguments["options"]) if "options" in arguments else {}
    name = values.of(arguments["name"]) if "name" in arguments else None
    return _use(call.lineno, Kind.SINK, dict(pairs or {}), pairs is not None, name or "")


def _use(line: int, kind: Kind, options: Mapping[str, str | None], is_complete: bool, name: str) -> Use:
    seen = {key: value for key, value in options.items() if value is not None}
    return Use(line, kind, seen, frozenset(options) - frozenset(seen), is_complete, name)


def _keyword(call: ast.Call, name: str, values: "_Values") -> str | None:
    return next((values.of(keyword.value) for keyword in call.keywords if keyword.arg == name), None)


def _rejecting_targets(function: ast.FunctionDef, values: "_Values") -> Iterator[str]:
    """@append_flow(target="x") def …: … rejected(…)"""
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    if not any(_called(call) == "rejected" for call in calls):
        return
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and _called(decorator) == "append_flow":
            target = _keyword(decorator, "target", values)
            if target is not None:
                yield target


class _Values:
    """Values of expressions, as far as they can be seen in the text."""

    def __init__(self, tree: ast.Module, configuration: Mapping[str, str]) -> None:
        self._configuration = configuration
        self.text_formats = dict(_text_formats(tree))
        self._names: dict[str, ast.expr] = {}
        for node in tree.body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self._names[node.targets[0].id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                self._names[node.target.id] = node.value

    def with_names(self, names: Mapping[str, ast.expr]) -> "_Values":
        """Return the values where these names stand for something, such as arguments of a function."""
        inner = copy(self)
        inner._names = {**self._names, **names}
        return inner

    def of(self, node: ast.expr, depth: int = 0) -> str | None:
        """Return the value as an option takes it; None where it is not seen."""
        if depth > _DEPTH_MAX:
            return None
        if isinstance(node, ast.Constant):
            return _as_option(node.value)
        if isinstance(node, ast.Name) and node.id in self._names:
            return self.of(self._names[node.id], depth + 1)
        if isinstance(node, ast.JoinedStr):
            return _joined([self._part(part, depth + 1) for part in node.values])
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return _joined([self.of(node.left, depth + 1), self.of(node.right, depth + 1)])
        if isinstance(node, ast.Call):
            return self._call(node, depth + 1)
        if isinstance(node, ast.Subscript) and _is_environ(node.value):
            return os.environ.get(self.of(node.slice, depth + 1) or "")
        return None

    def pairs(self, node: ast.expr, depth: int = 0) -> dict[str, str | None] | None:
        """Return the entries of a dictionary; None where its names are not all seen."""
        if isinstance(node, ast.Name) and node.id in self._names and depth <= _DEPTH_MAX:
            return self.pairs(self._names[node.id], depth + 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            left, right = self.pairs(node.left, depth + 1), self.pairs(node.right, depth + 1)
            return None if left is None or right is None else {**left, **right}
        if not isinstance(node, ast.Dict):
            return None
        values: dict[str, str | None] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            inner = self.pairs(value, depth + 1) if key is None else {self.of(key) or "": self.of(value)}
            if inner is None or "" in inner:
                return None
            values |= inner
        return values

    def _joined(self, separator: ast.expr, parts: ast.expr, depth: int) -> str | None:
        """Join a list, or the names of a dictionary."""
        if isinstance(parts, ast.Name):
            parts = self._names.get(parts.id, parts)
        nodes = parts.elts if isinstance(parts, ast.List | ast.Tuple) else getattr(parts, "keys", None)
        between = self.of(separator, depth)
        if not isinstance(nodes, list) or between is None:
            return None
        seen = [None if node is None else self.of(node, depth) for node in nodes]
        return None if None in seen else between.join(part or "" for part in seen)

    def _part(self, node: ast.expr, depth: int) -> str | None:
        if isinstance(node, ast.FormattedValue):
            return self.of(node.value, depth) if node.format_spec is None else None
        return self.of(node, depth)

    def _call(self, call: ast.Call, depth: int) -> str | None:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "join" and len(call.args) == 1:
            return self._joined(call.func.value, call.args[0], depth)
        arguments = [self.of(argument, depth) for argument in call.args]
        if not arguments or arguments[0] is None or not isinstance(call.func, ast.Attribute):
            return arguments[0] if arguments and _called(call) == "str" else None
        default = arguments[1] if len(arguments) > 1 else None
        if call.func.attr == "get" and _is_environ(call.func.value):
            return os.environ.get(arguments[0], default)
        if call.func.attr == "getenv":
            return os.environ.get(arguments[0], default)
        if call.func.attr == "get" and isinstance(call.func.value, ast.Attribute) and call.func.value.attr == "conf":
            return self._configuration.get(arguments[0], default)
        return None


#: Constants may be made of constants; nobody writes them deeper.
_DEPTH_MAX = 10


def _is_environ(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "environ"


def _as_option(value: object) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else None


def _joined(parts: list[str | None]) -> str | None:
    return None if any(part is None for part in parts) else "".join(part or "" for part in parts)


# SQL

_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_PROVIDER = re.compile(r"\bUSING\s+(\w+)(?:\s+OPTIONS\s*\(([^)]*)\))?", re.IGNORECASE)
_PAIR = re.compile(r"(?:'([^']+)'|\"([^\"]+)\"|([\w.]+))\s*(?:=\s*|\s)(?:'([^']*)'|\"([^\"]*)\"|([\w.]+))")


def sql_uses(text: str) -> DefinitionUses:
    plain = _COMMENTS.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), text)
    uses = DefinitionUses()
    for provider in _PROVIDER.finditer(plain):
        line = plain.count("\n", 0, provider.start()) + 1
        if provider[1].lower() != SOURCE:
            uses.table_formats.setdefault(provider[1].lower(), line)
            continue
        options = {a or b or c: d or e or f for a, b, c, d, e, f in _PAIR.findall(provider[2] or "")}
        uses.uses.append(Use(line, Kind.STREAM, options))
    return uses
