"""The command as a user meets it: exit codes, one-line errors, pipes, options before and after the verb."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from odradek import __version__
from odradek.cli.app import SUBCOMMANDS, run
from odradek.common.hot_modules import HOT_MODULES, describe, plain_modules

COMMAND = (sys.executable, "-m", "odradek.cli.main")


def test_version_is_the_packages_own(capsys: pytest.CaptureFixture[str]) -> None:
    line = f"odradek {__version__} ({describe(plain_modules())})\n"
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == line
    quick = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert quick.stdout == line


@pytest.mark.parametrize("plain", [[], list(HOT_MODULES)])
def test_perf_says_when_it_measures_plain_python(
    plain: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("odradek.cli.commands.perf.command.plain_modules", lambda: plain)
    assert run(["perf", "consume", "--help"]) == 0
    assert capsys.readouterr().err == (f"{describe(plain)}\n" if plain else "")


def test_help_lists_every_subcommand(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(f"\n  {subcommand.name}" in said for subcommand in SUBCOMMANDS)


@pytest.mark.parametrize("subcommand", SUBCOMMANDS, ids=lambda s: s.name)
def test_every_listed_subcommand_exists(subcommand: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([subcommand.name, "--help"]) == 0  # type: ignore[attr-defined]
    said = capsys.readouterr().out
    assert "Usage" in said
    assert "\\b" not in said


@pytest.mark.parametrize(
    ("arguments", "example"),
    [
        (["produce"], "  odradek produce orders -f json records.jsonl "),
        (["consume"], "  odradek consume orders -f '%t/%p %o %k: %s\\n'\n"),
        (["perf"], "  odradek perf consume orders --records 1000000\n"),
        (["service", "run"], "  odradek service run shop:app\n"),
        (["completion"], '  eval "$(odradek completion bash)" '),
    ],
)
def test_help_has_examples_a_line_each(arguments: list[str], example: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*arguments, "--help"]) == 0
    assert example in capsys.readouterr().out


def test_a_misspelt_command_is_told_the_right_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["consum"]) == 2
    assert "No such command 'consum'. Did you mean consume?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["protocol", "nonsense"], ["--format", "xml", "protocol", "apis"], ["log", "dump"]]
)
def test_wrong_usage_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert "Error:" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--format", "json", "protocol", "apis"],
        ["protocol", "--format", "json", "apis"],
        ["protocol", "apis", "--format", "json"],
        ["--format", "text", "protocol", "apis", "--format", "json"],
        ["-b", "elsewhere:9092", "protocol", "apis", "-v", "--utc", "--format", "json"],
    ],
)
def test_common_options_stand_before_or_after_the_verb(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "Produce"


def test_a_missing_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "verify", str(tmp_path / "nowhere")]) == 1
    said = capsys.readouterr().err
    assert said == f"odradek: {tmp_path}/nowhere: No such file or directory\n"


def test_a_file_where_a_directory_should_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("hello")
    assert run(["log", "verify", str(tmp_path / "file")]) == 1
    assert "is a file; expected a data directory" in capsys.readouterr().err


def test_a_directory_of_something_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    assert run(["log", "verify", str(tmp_path)]) == 1
    assert "neither a data directory" in capsys.readouterr().err


def test_verbose_shows_where_an_error_comes_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "verify", "-v", str(tmp_path / "nowhere")]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_closed_pipe_is_no_error(clean_data: Path) -> None:
    """The reader goes after the first line; there are megabytes to come."""
    process = subprocess.Popen(
        [*COMMAND, "log", "dump", str(clean_data)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 0
    assert said == b""


def heed_interrupts() -> None:
    """As at a terminal, also where the tests run as a job in the background, which ignores Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_ends_quietly(tmp_path: Path) -> None:
    """It waits for input that never comes; once the pipe has a reader, the command is on its way."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [*COMMAND, "protocol", "decode", "--lines", str(pipe)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heed_interrupts)
    with pipe.open("wb"):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130
    assert (out, err) == (b"", b"")


def test_ctrl_c_while_the_command_starts_is_as_quiet(tmp_path: Path) -> None:
    """It comes while click is imported: a click of our own sends it."""
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [*COMMAND, "protocol", "apis"], capture_output=True, env=environment, preexec_fn=heed_interrupts
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_ctrl_c_stays_ignored_where_the_caller_ignores_it(tmp_path: Path) -> None:
    """As for a job in the background of a script."""
    (tmp_path / "sitecustomize.py").write_text("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n")
    (tmp_path / "odradek_interrupts.py").write_text(
        "import os, signal, sys\nfrom odradek.cli.main import main\n"
        "status = main()\nos.kill(os.getpid(), signal.SIGINT)\nsys.exit(status)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "odradek_interrupts", "protocol", "apis"]
    done = subprocess.run(command, capture_output=True, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")


def test_help_says_the_exit_statuses_and_only_options_that_something_uses(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["--help"]) == 0
    said = capsys.readouterr().out
    assert "130 stopped by Ctrl-C" in said
    assert "--bootstrap" not in said and "--command-config" not in said


def in_shell(redirected: str) -> "subprocess.CompletedProcess[str]":
    line = " ".join((*COMMAND, redirected))
    return subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True)


@pytest.mark.parametrize(
    ("redirected", "said"),
    [
        ("protocol decode --lines <&-", "odradek: <stdin>: standard input is closed\n"),
        ("protocol apis >&-", "odradek: standard output is closed\n"),
        ("--version >&-", "odradek: standard output is closed\n"),
        ("protocol apis >/dev/full", "odradek: No space left on device\n"),
        ("protocol decode --lines /dev/null/x 2>&-", ""),
    ],
)
def test_streams_that_are_closed_or_full_are_one_line(redirected: str, said: str) -> None:
    done = in_shell(redirected)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_without_stderr_the_answer_still_comes() -> None:
    done = in_shell("protocol apis 2>&-")
    assert done.returncode == 0
    assert done.stdout.startswith("key")


def test_a_full_disk_behind_stdout_is_not_blamed_on_the_files(clean_data: Path) -> None:
    assert in_shell(f"log dump {clean_data} >/dev/full").stderr == "odradek: No space left on device\n"
