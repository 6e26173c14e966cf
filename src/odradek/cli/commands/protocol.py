"""`odradek protocol`: Kafka's messages at the command line.

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

#: A frame has 100 MiB at most by default (socket.request.max.bytes); as hex and JSON together it is three times that.
_MAX_LINE_BYTES = 512 * 1024 * 1024

#: Versions are 16 bits wide.
_VERSION = re.compile(r"[0-9]{1,5}", re.ASCII)


@click.group()
@local_options
def protocol() -> None:
    """Kafka's messages: the API table, all their names, decode, encode."""


@protocol.command()
@local_options
@click.pass_obj
def apis(settings: Settings) -> None:
    """List the API keys with the versions that brokers and controllers answer."""
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
    """List the names of all messages, with their kinds and versions: requests, responses, records, headers, data."""
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
@click.option("--lines", is_flag=True, help='Read {"message", "version", "hex"} a line, and add "json".')
@click.argument("words", nargs=-1, metavar="[FILE] | MESSAGE VERSION HEX")
@local_options
@click.pass_obj
def decode(settings: Settings, lines: bool, words: tuple[str, ...]) -> int:
    """Bytes to Kafka's own JSON form.

    With --lines from FILE, or from standard input. Without, one message: its name as Kafka writes it (see odradek
    protocol messages), its version, and the bytes of its body.
    """
    if lines:
        return _convert_lines(words, decode_fields)
    message, version, given = _three_words(words, "HEX")
    fields = decode_fields({"message": message, "version": version, "hex": given})
    sys.stdout.write(dump_json(fields["json"], indent=None if settings.as_json else 2) + "\n")
    return 0


@protocol.command()
@click.option("--lines", is_flag=True, help='Read {"message", "version", "json"} a line, and add "hex".')
@click.argument("words", nargs=-1, metavar="[FILE] | MESSAGE VERSION JSON")
@local_options
@click.pass_obj
def encode(settings: Settings, lines: bool, words: tuple[str, ...]) -> int:
    """Kafka's own JSON form to bytes, as hex; the other way round of decode."""
    if lines:
        return _convert_lines(words, encode_fields)
    message, version, given = _three_words(words, "JSON")
    try:
        fields = encode_fields({"message": message, "version": version, "json": _parse(given)})
    except RecursionError:
        raise BadMessage("no JSON: it is nested too deeply") from None
    echo(dump_json(fields["hex"]) if settings.as_json else fields["hex"])
    return 0


def _range(versions: tuple[int, int] | None) -> str:
    if versions is None:
        return "-"
    first, last = versions
    return str(first) if first == last else f"{first}-{last}"


def _three_words(words: tuple[str, ...], last: str) -> tuple[str, int, str]:
    if len(words) != 3:
        raise click.UsageError(f"give MESSAGE VERSION {last}, or --lines")
    message, version, given = words
    if not _VERSION.fullmatch(version):
        raise click.UsageError(f'VERSION is a whole number of at most five digits, and "{printable(version)}" is none')
    return message, int(version), given


def _convert_lines(words: tuple[str, ...], convert: Converter) -> int:
    """A bad line is named and left out; the others are not its victims."""
    if len(words) > 1:
        raise click.UsageError("--lines reads one FILE, or standard input")
    path = words[0] if words else "-"
    status = 0
    with _opened(path) as file:
        for number, line in enumerate(_lines(file), start=1):
            if not line.strip():
                continue
            where = f"{'<stdin>' if path == '-' else path}:{number}"
            if len(line) > _MAX_LINE_BYTES:
                raise InputError(f"{where}: the line has more than {_MAX_LINE_BYTES} bytes; no message is so long")
            try:
                sys.stdout.write(_converted(line, convert) + "\n")
            except BadMessage as error:
                warn(f"{where}: {error}")
                status = 1
    return status


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """One byte more than allowed shows that a line is too long."""
    return iter(lambda: file.readline(_MAX_LINE_BYTES + 1), b"")


def _converted(line: bytes, convert: Converter) -> str:
    try:
        return dump_json(convert(_parse(line)))
    except RecursionError:
        raise BadMessage("no JSON: it is nested too deeply") from None


def _parse(line: bytes | str) -> object:
    try:
        return json.loads(line)
    except ValueError as error:
        raise BadMessage(f"no JSON: {error}") from None


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    if path != "-":
        with open(path, "rb") as file:
            yield file
    elif sys.stdin is None:
        raise InputError("<stdin>: standard input is closed")
    else:
        yield sys.stdin.buffer
