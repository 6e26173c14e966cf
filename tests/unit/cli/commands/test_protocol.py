"""`odradek protocol` against Kafka's own messages in both forms."""

import gzip
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from odradek.cli.app import run
from support import vectors


@pytest.fixture(scope="module")
def wire_lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("wire") / "wire.jsonl"
    with gzip.open(vectors.DIRECTORY / "wire.jsonl.gz") as packed, path.open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    return path


def printed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def without_records(value: Any) -> Any:
    """The vectors' JSON has an empty string for every field of record batches, whatever the bytes hold."""
    if isinstance(value, dict):
        emptied = {name: "" for name in ("records", "unalignedRecords") if value.get(name)}
        return {name: without_records(inner) for name, inner in value.items()} | emptied
    return [without_records(inner) for inner in value] if isinstance(value, list) else value


def test_decode_lines_gives_kafkas_json(wire_lines: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protocol", "decode", "--lines", str(wire_lines)]) == 0
    assert [without_records(line) for line in printed(capsys)] == list(vectors.wire_messages())


def test_encode_lines_gives_kafkas_bytes(tmp_path: Path, wire_lines: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the JSON that decode gave, whose records are there."""
    assert run(["protocol", "decode", "--lines", str(wire_lines)]) == 0
    decoded = printed(capsys)
    without_hex = [{name: line[name] for name in ("message", "version", "json")} for line in decoded]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in without_hex))
    assert run(["protocol", "encode", "--lines", str(tmp_path / "in.jsonl")]) == 0
    assert [line["hex"] for line in printed(capsys)] == [line["hex"] for line in vectors.wire_messages()]


def test_one_message_as_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protocol", "decode", "HeartbeatResponse", "1", "00000005000e"]) == 0
    assert json.loads(capsys.readouterr().out) == {"throttleTimeMs": 5, "errorCode": 14}
    assert run(["protocol", "encode", "HeartbeatResponse", "1", '{"throttleTimeMs": 5, "errorCode": 14}']) == 0
    assert capsys.readouterr().out == "00000005000e\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{nonsense", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("17", 'not an object with "message"'),
        ('{"message": "HeartbeatResponse", "version": 0}', '"hex" is missing'),
        ('{"message": "Nonsense", "version": 0, "hex": ""}', 'unknown message "Nonsense"'),
        ('{"message": 5, "version": 0, "hex": ""}', '"message" must be a name, not 5'),
        ('{"message": ["a"], "version": 0, "hex": ""}', '"message" must be a name, not ["a"]'),
        ('{"message": "Heartbeat", "version": 0, "hex": ""}', "did you mean HeartbeatRequest or HeartbeatResponse?"),
        ('{"message": "HartbeatRequest", "version": 0, "hex": ""}', "did you mean HeartbeatRequest"),
        ('{"message": "HeartbeatResponse", "version": 99, "hex": ""}', "has the versions 0 to 4, not 99"),
        ('{"message": "HeartbeatResponse", "version": "0", "hex": ""}', '"version" must be an integer, not "0"'),
        ('{"message": "HeartbeatResponse", "version": null, "hex": ""}', "must be an integer, not null"),
        ('{"message": "HeartbeatResponse", "version": true, "hex": ""}', "must be an integer, not true"),
        ('{"message": "HeartbeatResponse", "version": 0, "hex": "0"}', "hexadecimal"),
        ('{"message": "HeartbeatResponse", "version": 0, "hex": null}', "hexadecimal"),
        ('{"message": "HeartbeatResponse", "version": 0, "hex": "00"}', "HeartbeatResponse version 0"),
        ('{"message": "HeartbeatResponse", "version": 0, "hex": "000000"}', "HeartbeatResponse version 0"),
    ],
)
def test_a_bad_line_is_named_and_the_others_go_on(
    line: str, reason: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = '{"message": "HeartbeatResponse", "version": 0, "hex": "0000"}\n'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{good}\n{line}\n{good}".encode())))
    assert run(["protocol", "decode", "--lines"]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("odradek: <stdin>:3: ")
    assert reason in captured.err
    assert captured.err.count("\n") == 1
    assert [json.loads(said)["json"] for said in captured.out.splitlines()] == [{"errorCode": 0}] * 2


@pytest.mark.parametrize(
    "value",
    [{}, {"errorCode": "x"}, {"errorCode": 70_000}, {"errorCode": 0, "more": 1}, [], None, {"errorCode": None}],
)
def test_json_that_is_no_such_message(value: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protocol", "encode", "HeartbeatResponse", "0", json.dumps(value)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("odradek: HeartbeatResponse version 0: ")


def test_a_bad_line_of_a_file_is_said_with_its_name_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two\nlines"
    path.write_text("{nonsense\n")
    assert run(["protocol", "decode", "--lines", str(path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"odradek: {tmp_path}/two\\nlines:1: not valid JSON")
    assert said.count("\n") == 1


def test_the_name_of_the_message_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protocol", "decode", "HeartbeatResponse", "1", "00"]) == 1
    assert run(["protocol", "encode", "HeartbeatResponse", "0", '{"errorCode": 0, "more": 1}']) == 1
    assert all(line.count("HeartbeatResponse") == 1 for line in capsys.readouterr().err.splitlines())


def test_a_line_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("odradek.cli.commands.protocol._MAX_LINE_BYTES", 100)
    (tmp_path / "lines").write_text("x" * 101)
    assert run(["protocol", "decode", "--lines", str(tmp_path / "lines")]) == 1
    assert "lines:1: the line is longer than the limit of 100 bytes" in capsys.readouterr().err


def test_json_nested_to_the_limit_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What can just be read may be just too deep to be written again."""
    for depth in range(850, 1000):
        fields = '"message": "HeartbeatResponse", "version": 0, "hex": "0000"'
        line = f'{{{fields}, "deep": {"[" * depth}{"]" * depth}}}'
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(line.encode())))
        status = run(["protocol", "decode", "--lines"])
        captured = capsys.readouterr()
        assert (status, bool(captured.out), bool(captured.err)) in ((0, True, False), (1, False, True))


def test_wrong_words_are_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protocol", "decode"]) == 2
    assert run(["protocol", "decode", "HeartbeatResponse", "x", "00"]) == 2
    assert run(["protocol", "decode", "HeartbeatResponse", "9" * 5000, "00"]) == 2
    assert run(["protocol", "decode", "--lines", "a", "b"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_table_of_apis(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protocol", "apis"]) == 0
    text = capsys.readouterr().out.splitlines()
    assert run(["protocol", "apis", "--format", "json"]) == 0
    apis = json.loads(capsys.readouterr().out)
    assert len(text) == len(apis) + 1
    assert apis[0] == {"key": 0, "name": "Produce", "broker": [0, 13], "controller": None}
    assert text[1].split() == ["0", "Produce", "0-13", "-"]


def test_all_messages_are_listed_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protocol", "messages"]) == 0
    text = capsys.readouterr().out.splitlines()
    assert run(["protocol", "messages", "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert len(text) == len(listed) + 1
    assert {"name": "HeartbeatResponse", "kind": "response", "versions": [0, 4]} in listed
    assert {message["message"] for message in vectors.wire_messages()} <= {message["name"] for message in listed}
