"""Make the protocol's tables and classes.

    tools/make_messages.py tables DIRECTORY    Kafka's schemas (messages.json, apis.json, errors.json) into tables/*.txt
    tools/make_messages.py sources             tables/*.txt into Python source

The first is needed when Kafka's messages change; the second after any change of tables/ or of this file. A test makes
the sources again and compares.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from odradek.protocol.schema import INDENT, Field, Schema, Versions, default_value, parse_schema, snake_case  # noqa: E402

PROTOCOL = ROOT / "src" / "odradek" / "protocol"
TABLES = PROTOCOL / "tables"

LINE_LENGTH = 120

FIELD_TYPES = {
    "bool": "bool",
    "int8": "int",
    "int16": "int",
    "uint16": "int",
    "int32": "int",
    "uint32": "int",
    "int64": "int",
    "float64": "float",
    "uuid": "bytes",
    "string": "str",
    "bytes": "bytes",
    "records": "Buffer",
}


# From Kafka's JSON to the table


def message_lines(message: dict[str, Any]) -> Iterator[str]:
    words = [message["name"], message["type"], f"module={message['module']}"]
    if "apiKey" in message:
        words.append(f"key={message['apiKey']}")
    yield " ".join([*words, f"versions={message['validVersions']}", f"flexible={message['flexibleVersions']}"])
    for struct in message.get("commonStructs", []):
        yield f"{INDENT}struct {struct['name']}"
        yield from field_lines(struct["fields"], 2)
    yield from field_lines(message["fields"], 1)


def field_lines(fields: list[dict[str, Any]], depth: int) -> Iterator[str]:
    for field in fields:
        versions = field.get("versions") or field["taggedVersions"]
        words = [field["name"], field["type"], versions]
        if "nullableVersions" in field:
            words.append(f"nullable={field['nullableVersions']}")
        default = default_text(field)
        if default:
            words.append(f"default={default}")
        if "tag" in field:
            if field["taggedVersions"] != versions:
                raise SystemExit(f"{field['name']}: tagged in some versions only; the table cannot say that")
            words.append(f"tag={field['tag']}")
        words += [word for word, name in (("ignorable", "ignorable"), ("key", "mapKey")) if field.get(name)]
        if "flexibleVersions" in field:
            words.append(f"flexible={field['flexibleVersions']}")
        if "entityType" in field:
            words.append(f"entity={field['entityType']}")
        yield INDENT * depth + " ".join(words)
        yield from field_lines(field.get("fields", []), depth + 1)


def default_text(field: dict[str, Any]) -> str:
    """One spelling for each default: Kafka's files have -1 and "-1" and 0x7fffffff. Only the word "null" makes null the
    default; a bare null there says nothing, and Kafka takes it for the type's own default."""
    default = field.get("default")
    if default is None:
        return ""
    if default == "null":
        return "null"
    if field["type"] == "bool":
        return "true" if str(default).lower() == "true" else ""
    number = int(default, 0) if isinstance(default, str) and default else int(default or 0)
    return str(number) if number else ""


def write_facts(shared: Path) -> None:
    TABLES.mkdir(exist_ok=True)
    messages = [m for m in json.loads((shared / "messages.json").read_text()) if m["validVersions"] != "none"]
    blocks = ["\n".join(message_lines(message)) for message in messages]
    (TABLES / "messages.txt").write_text("\n\n".join(blocks) + "\n")

    advertised = {api["key"]: api for api in json.loads((shared / "apis.json").read_text())["apis"]}
    lines = []
    for message in sorted((m for m in messages if m["type"] == "request"), key=lambda m: int(m["apiKey"])):
        api = advertised.get(message["apiKey"], {})
        ranges = [f"{name}={span(api[name])}" for name in ("broker", "controller") if api.get(name)]
        lines.append(" ".join([str(message["apiKey"]), message["name"].removesuffix("Request"), *ranges]))
    (TABLES / "apis.txt").write_text("\n".join(lines) + "\n")

    known = dict(line.split(": ", 1) for line in read_lines("errors.txt")) if (TABLES / "errors.txt").exists() else {}
    texts = {head.split()[1]: text for head, text in known.items()}
    lines = []
    for error in json.loads((shared / "errors.json").read_text()):
        # Kafka says "abortable" by this code itself and by no class of errors.
        error["abortable"] |= error["name"] == "TRANSACTION_ABORTABLE"
        flags = [flag for flag in ("retriable", "refresh_metadata", "abortable") if error[flag]]
        text = texts.get(error["name"], error["name"].lower().replace("_", " "))
        lines.append(" ".join([str(error["code"]), error["name"], *flags]) + f": {text}")
    (TABLES / "errors.txt").write_text("\n".join(lines) + "\n")


def span(versions: list[int]) -> str:
    return str(Versions(*versions))


# From the table to classes


def read_lines(name: str) -> list[str]:
    return (TABLES / name).read_text().splitlines()


def read_blocks() -> list[str]:
    return (TABLES / "messages.txt").read_text().strip("\n").split("\n\n")


def value_type(field: Field) -> str:
    element = field.element if field.is_struct else FIELD_TYPES[field.element]
    whole = f"list[{element}]" if field.is_array else element
    nullable = field.default == "null" or field.nullable.last >= field.nullable.first
    return f"{whole} | None" if nullable else whole


def init_lines(fields: tuple[Field, ...]) -> Iterator[str]:
    yield "    def __init__("
    yield "        self,"
    yield "        *,"
    for field in fields:
        fresh = (field.is_array or field.is_struct) and field.default != "null"
        default = "DEFAULT" if fresh else default_literal(field)
        yield f"        {field.name}: {value_type(field)} = {default},"
    yield "        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),"
    yield "    ) -> None:"
    for field in fields:
        value = field.name
        if field.default != "null" and (field.is_array or field.is_struct):
            made = "[]" if field.is_array else f"{field.element}()"
            value = f"{made} if {field.name} is DEFAULT else {field.name}"
            start = f"        self.{field.name}: {value_type(field)} = "
            if len(start + value) <= LINE_LENGTH:
                yield start + value
            else:
                yield from (start + "(", f"            {value}", "        )")
        else:
            yield f"        self.{field.name} = {value}"
    yield "        self.unknown_tagged_fields = unknown_tagged_fields"


def default_literal(field: Field) -> str:
    if field.type == "uuid":
        return "ZERO_UUID"
    literal = repr(default_value(field))
    return '""' if literal == "''" else 'b""' if literal == "b''" else literal


def slots_lines(fields: tuple[Field, ...]) -> Iterator[str]:
    names = sorted(field.name for field in fields)
    if len(names) < 2:
        inside = "".join(f'"{name}",' for name in names)
        yield f"    __slots__ = ({inside})"
        return
    yield "    __slots__ = ("
    yield from (f'        "{name}",' for name in names)
    yield "    )"


def struct_order(schema: Schema) -> list[str]:
    """Structures after those that they hold, so that annotations refer to what is defined already."""
    order: list[str] = []

    def visit(fields: tuple[Field, ...]) -> None:
        for field in fields:
            if field.is_struct and field.element not in order:
                visit(schema.structs[field.element])
                order.append(field.element)

    visit(schema.fields)
    return order


def message_source(block: str) -> str:
    schema = parse_schema(block)
    order = struct_order(schema)
    owners = [schema.fields, *(schema.structs[name] for name in order)]
    every = [field for fields in owners for field in fields]
    lines = [
        f'"""{schema.name}. Made by tools/make_messages.py from tables/messages.txt."""',
        "",
    ]
    if any(field.type == "uuid" for field in every):
        lines.append("from odradek.common.ids import ZERO_UUID")
    if any(field.type == "records" for field in every):
        lines.append("from odradek.common.ports import Buffer")
    fresh = any((field.is_array or field.is_struct) and field.default != "null" for field in every)
    lines += [f"from odradek.protocol.message import {'DEFAULT, ' if fresh else ''}Message", ""]
    for name in order:
        lines += ["", f"class {name}(Message):"]
        lines += [*slots_lines(schema.structs[name]), "", *init_lines(schema.structs[name]), ""]
    lines += ["", f"class {schema.name}(Message):"]
    lines += [*slots_lines(schema.fields), ""]
    if schema.key >= 0:
        lines.append(f"    API_KEY = {schema.key}")
    lines.append(f"    VERSIONS = ({schema.versions.first}, {schema.versions.last})")
    if schema.flexible.last >= schema.flexible.first:
        lines.append(f"    FLEXIBLE_FROM = {schema.flexible.first}")
    lines += ['    SCHEMA = """', *block.split("\n"), '"""', "", *init_lines(schema.fields)]
    return "\n".join(lines) + "\n"


# The other tables


def index_source() -> str:
    lines = [
        '"""Every message, without importing any of them. Made by tools/make_messages.py from tables/messages.txt."""',
        "",
        "#: name: (kind, module, key or -1, first version, last version)",
        "MESSAGES: dict[str, tuple[str, str, int, int, int]] = {",
    ]
    for block in read_blocks():
        s = parse_schema(block)
        lines.append(f'    "{s.name}": ("{s.kind}", "{s.module}", {s.key}, {s.versions.first}, {s.versions.last}),')
    return "\n".join([*lines, "}"]) + "\n"


API_TABLE_HEAD = '''"""API keys and the versions advertised. Made by tools/make_messages.py from tables/apis.txt."""

from enum import IntEnum


class ApiKey(IntEnum):
'''


def api_source() -> str:
    rows = [line.split() for line in read_lines("apis.txt")]
    lines = [f"    {snake_case(name).upper()} = {key}" for key, name, *_ in rows]
    lines += ["", "", "#: key: (name, what a broker's listener advertises, what a controller's does)"]
    lines.append("ADVERTISED: dict[int, tuple[str, tuple[int, int] | None, tuple[int, int] | None]] = {")
    for key, name, *options in rows:
        ranges = dict(option.split("=") for option in options)
        spans = [version_pair(ranges.get(listener)) for listener in ("broker", "controller")]
        lines.append(f'    {key}: ("{name}", {", ".join(spans)}),')
    return API_TABLE_HEAD + "\n".join([*lines, "}"]) + "\n"


def version_pair(text: str | None) -> str:
    if text is None:
        return "None"
    first, _, last = text.partition("-")
    return f"({first}, {last or first})"


ERROR_TABLE_HEAD = '''"""Error codes, their flags and texts. Made by tools/make_messages.py from tables/errors.txt."""

from enum import IntEnum


class ErrorCode(IntEnum):
    """Kafka's error codes. `retriable`: asking again may help. `refresh_metadata`: after learning anew who leads.
    `abortable`: the transaction must be aborted, and then the producer may go on."""

'''

ERROR_PROPERTIES = '''
    @property
    def retriable(self) -> bool:
        return self in _RETRIABLE

    @property
    def refresh_metadata(self) -> bool:
        return self in _REFRESH_METADATA

    @property
    def abortable(self) -> bool:
        return self in _ABORTABLE

    @property
    def message(self) -> str:
        """A sentence for people."""
        return _MESSAGES[self]
'''


def error_source() -> str:
    rows = []
    for line in read_lines("errors.txt"):
        head, text = line.split(": ", 1)
        code, name, *flags = head.split()
        rows.append((code, name, flags, text))
    lines = [f"    {name} = {code}" for code, name, _, _ in rows]
    lines.append(ERROR_PROPERTIES)
    for flag in ("retriable", "refresh_metadata", "abortable"):
        codes = [f"    {code}," for code, _, flags, _ in rows if flag in flags]
        lines += ["", f"_{flag.upper()} = {{", *codes, "}"]
    lines += ["", "_MESSAGES: dict[int, str] = {"]
    lines += [f"    {code}: {json.dumps(text)}," for code, _, _, text in rows]
    return ERROR_TABLE_HEAD + "\n".join([*lines, "}"]) + "\n"


MESSAGES_HEAD = '"""One module per message, made by tools/make_messages.py; import the one that is needed."""\n'


def sources() -> dict[str, str]:
    """Every generated file: its path below the protocol room, and its text."""
    made = {
        "message_index.py": index_source(),
        "api_table.py": api_source(),
        "error_codes.py": error_source(),
        "messages/__init__.py": MESSAGES_HEAD,
    }
    for block in read_blocks():
        name = snake_case(block.split(" ", 1)[0])
        made[f"messages/{name}.py"] = message_source(block)
    return made


def write_sources() -> None:
    (PROTOCOL / "messages").mkdir(exist_ok=True)
    made = sources()
    for old in (PROTOCOL / "messages").glob("*.py"):
        if f"messages/{old.name}" not in made:
            old.unlink()
    for path, text in made.items():
        (PROTOCOL / path).write_text(text)
    print(f"{len(made)} files written")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["tables", shared]:
            write_facts(Path(shared))
        case ["sources"]:
            write_sources()
        case _:
            raise SystemExit(__doc__)
