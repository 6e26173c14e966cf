"""`odradek protocol`: APIs and messages of the Kafka protocol.

odradek protocol apis
odradek protocol decode ApiVersionsRequest 3 0e6f647261646b02302e3100
odradek protocol decode --lines messages.jsonl
"""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import click

from odradek.cli.base.errors import echo, warn
from odradek.cli.base.options import Settings, local_options
from odradek.cli.base.output import print_json, print_table
from odradek.cli.commands.protocol_lines import BadMessage, Converter, decode_fields, encode_fields
from odradek.common.failures import InputError
from odradek.common.printable import dump_json, printable

#: A frame has at most 100 MiB by default (socket.request.max.bytes); as hex and JSON together it has three times that.
_MAX_LINE_BYTES = 512 * 1024 * 1024

#: Versions have 16 bits.
_VERSION = re.compile(r"[0-9]{1,5}", re.ASCII)


@click.group()
@local_options
def protocol() -> None:
    """List APIs and messages of the Kafka protocol; decode and encode messages."""


@protocol.command()
@local_options
@click.pass_obj
def apis(settings: Settings) -> None:
    """List API keys with the versions that brokers and controllers support."""
    from odradek.protocol.api_table import ADVERTISED

    if settings.as_json:
        print_json(
            [
                {"key": key, "name": name, "broker": broker, "controller": controller}
                for key, (name, broker, controller) in ADVERTISED.items()
            ]
        )
        return
    rows = [(key, name, _range(broker), _range(controller)) for key, (name, broker, controller) in ADVERTISED.items()]
    print_table(("key", "api", "broker", "controller"), rows)


@protocol.command()
@local_options
@click.pass_obj
def messages(settings: Settings) -> None:
    """List all messages with their kinds and versions: requests, responses, records, headers, data."""
    from odradek.protocol.message_index import MESSAGES

    if settings.as_json:
        print_json(
            [
                {"name": name, "kind": kind, "versions": [first, last]}
                for name, (kind, _, _, first, last) in sorted(MESSAGES.items())
            ]
        )
        return
    rows = [(name, kind, _range((first, last))) for name, (kind, _, _, first, last) in sorted(MESSAGES.items())]
    print_table(("message", "kind", "versions"), rows)


@protocol.command()
@click.option("--lines", is_flag=True, help='Read {"message", "version", "hex"} from each line, and add "json".')
@click.argument("arguments", nargs=-1, metavar="[FILE] | MESSAGE VERSION HEX")
@local_options
@click.pass_obj
def decode(settings: Settings, lines: bool, arguments: tuple[str, ...]) -> int:
    """Convert bytes to Kafka's JSON format.

    With --lines the input is FILE or standard input. Otherwise the arguments are one message: its name (see odradek
    protocol messages), its version, and the bytes of its body.
    """
    if lines:
        return _convert_lines(arguments, decode_fields)
    message, version, content = _parse_arguments(arguments, "HEX")
    fields = decode_fields({"message": message, "version": version, "hex": content})
    sys.stdout.write(dump_json(fields["json"], indent=None if settings.as_json else 2) + "\n")
    return 0


@protocol.command()
@click.option("--lines", is_flag=True, help='Read {"message", "version", "json"} from each line, and add "hex".')
@click.argument("arguments", nargs=-1, metavar="[FILE] | MESSAGE VERSION JSON")
@local_options
@click.pass_obj
def encode(settings: Settings, lines: bool, arguments: tuple[str, ...]) -> int:
    """Convert Kafka's JSON format to bytes in hex: the inverse of decode."""
    if lines:
        return _convert_lines(arguments, encode_fields)
    message, version, content = _parse_arguments(arguments, "JSON")
    try:
        fields = encode_fields({"message": message, "version": version, "json": _parse(content)})
    except RecursionError:
        raise BadMessage("not valid JSON: it is nested too deeply") from None
    echo(dump_json(fields["hex"]) if settings.as_json else fields["hex"])
    return 0


def _range(versions: tuple[int, int] | None) -> str:
    if versions is None:
        return "-"
    first, last = versions
    return str(first) if first == last else f"{first}-{last}"


def _parse_arguments(arguments: tuple[str, ...], last: str) -> tuple[str, int, str]:
    if len(arguments) != 3:
        raise click.UsageError(f"Expected MESSAGE VERSION {last}, or --lines")
    message, version, content = arguments
    if not _VERSION.fullmatch(version):
        raise click.UsageError(f'VERSION: "{printable(version)}" is not an integer of at most five digits')
    return message, int(version), content


def _convert_lines(arguments: tuple[str, ...], convert: Converter) -> int:
    """Convert lines. A malformed line is reported and skipped; the exit status is 1 then."""
    if len(arguments) > 1:
        raise click.UsageError("--lines reads one FILE, or standard input")
    path = arguments[0] if arguments else "-"
    status = 0
    with _opened(path) as file:
        for line_number, line in enumerate(_lines(file), start=1):
            if not line.strip():
                continue
            location = f"{'<stdin>' if path == '-' else path}:{line_number}"
            if len(line) > _MAX_LINE_BYTES:
                raise InputError(f"{location}: the line is longer than the limit of {_MAX_LINE_BYTES} bytes")
            try:
                sys.stdout.write(_converted(line, convert) + "\n")
            except BadMessage as error:
                warn(f"{location}: {error}")
                status = 1
    return status


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield lines; of one that is too long, one byte more than the limit."""
    return iter(lambda: file.readline(_MAX_LINE_BYTES + 1), b"")


def _converted(line: bytes, convert: Converter) -> str:
    try:
        return dump_json(convert(_parse(line)))
    except RecursionError:
        raise BadMessage("not valid JSON: it is nested too deeply") from None


def _parse(line: bytes | str) -> object:
    try:
        return json.loads(line)
    except ValueError as error:
        raise BadMessage(f"not valid JSON: {error}") from None


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    if path != "-":
        with open(path, "rb") as file:
            yield file
    elif sys.stdin is None:
        raise InputError("<stdin>: standard input is closed")
    else:
        yield sys.stdin.buffer
