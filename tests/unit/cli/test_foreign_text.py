"""What commands write is escaped in one place, and no name is taken for markup of a progress display."""

import ast
import io
from pathlib import Path

import click
import pytest
from rich.console import Console

from odradek.cli.app import run
from odradek.cli.base.errors import echo, report_error
from odradek.cli.base.options import Settings
from odradek.cli.base.output import print_json
from odradek.cli.commands.consume.record_format import compile_format, printable_value_line, value_line
from odradek.cli.commands.perf import show as perf_show
from odradek.cli.commands.pipeline import show as pipeline_show
from odradek.client.consumer.record import ConsumerRecord
from odradek.records.record import Header, TimestampType
from odradek.spark.pipeline.state import FlowState

CLI = Path(__file__).parents[3] / "src" / "odradek" / "cli"

#: They write texts of their own only, before anything else is imported or for a shell to read.
OWN_TEXTS_ONLY = {"main.py", "completion.py"}

HOSTILE = "x\nforged\x00\x7f\x1b[31m"
SHOWN = r"x\nforged\x00\x7f\x1b[31m"


def writes_directly(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return ast.unparse(node.func) in ("print", "click.echo", "click.secho")


def test_commands_write_lines_by_the_one_function_that_escapes() -> None:
    direct = {
        path.name
        for path in CLI.rglob("*.py")
        if any(writes_directly(node) for node in ast.walk(ast.parse(path.read_text())))
    }
    assert direct == OWN_TEXTS_ONLY


def test_a_line_and_an_error_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    echo(HOSTILE)
    report_error(ValueError(HOSTILE), verbose=True)
    print_json({"name": HOSTILE})
    out, err = capsys.readouterr()
    assert out == SHOWN + "\n" + r'{"name": "x\nforged\u0000\u007f\u001b[31m"}' + "\n"
    assert err == f"ValueError: {SHOWN}\nodradek: {SHOWN}\n"


def test_wrong_usage_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protocol", "decode", HOSTILE, HOSTILE]) == click.UsageError.exit_code
    assert run([HOSTILE]) == click.UsageError.exit_code
    assert all(line.isprintable() for line in capsys.readouterr().err.split("\n"))


def record() -> ConsumerRecord:
    data = b"a\tb\n\x1b[31m\xff"
    return ConsumerRecord("t", 0, 1, 2, TimestampType.CREATE_TIME, b"k\x07", data, (Header("h\x1b", b"\x00"),), 0)


def test_records_steer_no_terminal_and_reach_a_pipe_as_they_are() -> None:
    assert value_line(record()) == b"a\tb\n\x1b[31m\xff\n"
    assert printable_value_line(record()) == b"a\tb\n\\x1b[31m\\xff\n"
    form = r"\x1b[1m%k\x1b[0m %h %s"
    assert compile_format(form)(record()) == b"\x1b[1mk\x07\x1b[0m h\x1b=\x00 a\tb\n\x1b[31m\xff"
    shown = compile_format(form, for_terminal=True)(record())
    assert shown == b"\x1b[1mk\\x07\x1b[0m h\\x1b=\\x00 a\tb\n\\x1b[31m\\xff"


def rendered(renderable: object) -> str:
    console = Console(file=io.StringIO(), width=200, force_terminal=False)
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_names_in_brackets_are_no_markup() -> None:
    assert "[red]orders[/red]" in rendered(perf_show._panel("[red]orders[/red]", 1, 2, "[bold]"))
    table = pipeline_show._Table(Settings())
    table._state.flows["[red]flow[/red]\x1b[2J"] = FlowState()
    assert r"[red]flow[/red]\x1b[2J" in rendered(table._render())
