"""What may lie under Kafka's names: pipes, files without end, what cannot be opened. One line each, and on."""

import json
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from odradek.cli.app import run
from odradek.inspection.directory_listing import Kind
from odradek.inspection.safe_reading import LIMITS_BYTES
from support import vectors

SEGMENT = "00000000000000000000.log"

#: More than any disk of a test machine has; the file is sparse.
HUGE_BYTES = 20 * 1024**3


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return vectors.unpack(vectors.CLEAN, tmp_path_factory.mktemp("pristine"))


@pytest.fixture
def partition(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine / "plain-0", tmp_path / "plain-0"))


@pytest.fixture
def data(pristine: Path, tmp_path: Path) -> Path:
    """A data directory of three partitions."""
    target = tmp_path / "data"
    shutil.copytree(pristine, target, ignore=shutil.ignore_patterns("*-0", "*-1"))
    for name in ("plain-0", "txn-0", "small-segments-0"):
        shutil.copytree(pristine / name, target / name)
    return target


def wrong(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith("problem: ")]


def deny(monkeypatch: pytest.MonkeyPatch, denied: Path) -> None:
    """As for a user who may not: tests may run as root, who always may."""

    def denying(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: object, *arguments: object, **named: object) -> object:
            if os.fspath(path) == str(denied):  # type: ignore[call-overload]
                raise PermissionError(13, "Permission denied", str(denied))
            return real(path, *arguments, **named)

        return call

    monkeypatch.setattr("os.open", denying(os.open))
    monkeypatch.setattr("os.listdir", denying(os.listdir))


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(path.parent)  # a socket's name may have 108 bytes only
        listener.bind(path.name)
        os.chdir(here)


def make_directory(path: Path) -> None:
    path.mkdir()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("make", [make_pipe, make_socket, make_directory])
@pytest.mark.parametrize(
    "name",
    [
        SEGMENT,
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
        "00000000000000000110.snapshot",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ],
)
def test_what_is_no_regular_file_is_said_and_not_waited_for(
    name: str, make: Callable[[Path], None], partition: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (partition / name).unlink()
    make(partition / name)
    assert run(["log", "verify", str(partition)]) == 1
    assert wrong(capsys) == [f"problem: {partition}/{name}: not a regular file"]
    assert run(["log", "dump", str(partition)]) == 1
    captured = capsys.readouterr()
    assert captured.err == f"odradek: {partition}/{name}: not a regular file\n"
    assert captured.out.count("\n") > 8


@pytest.mark.timeout(60)
def test_a_pipe_in_the_data_directory_is_met_too(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "cleaner-offset-checkpoint").unlink()
    os.mkfifo(data / "cleaner-offset-checkpoint")
    assert run(["log", "verify", str(data)]) == 1
    assert wrong(capsys) == [f"problem: {data}/cleaner-offset-checkpoint: not a regular file"]


@pytest.mark.timeout(60)
def test_a_partition_that_is_nothing_but_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x-0").mkdir()
    os.mkfifo(tmp_path / "x-0" / "leader-epoch-checkpoint")
    assert run(["log", "verify", str(tmp_path / "x-0")]) == 1
    assert wrong(capsys) == [f"problem: {tmp_path}/x-0/leader-epoch-checkpoint: not a regular file"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (SEGMENT, Kind.SEGMENT),
        ("00000000000000000000.index", Kind.OFFSET_INDEX),
        ("00000000000000000000.timeindex", Kind.TIME_INDEX),
        ("00000000000000000000.txnindex", Kind.TXN_INDEX),
        ("00000000000000000110.snapshot", Kind.PRODUCER_SNAPSHOT),
        ("00000000000000000110-0000000001.checkpoint", Kind.METADATA_SNAPSHOT),
        ("leader-epoch-checkpoint", Kind.EPOCHS),
        ("partition.metadata", Kind.PARTITION_METADATA),
        ("quorum-state", Kind.QUORUM_STATE),
    ],
)
def test_a_file_larger_than_its_kind_can_be_is_not_read(
    name: str, kind: Kind, partition: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (partition / name).touch()
    os.truncate(partition / name, HUGE_BYTES)
    said = f"{partition}/{name}: {HUGE_BYTES} bytes, but a file of this kind ({kind}) has at most {LIMITS_BYTES[kind]}"
    assert run(["log", "verify", str(partition)]) == 1
    assert wrong(capsys) == [f"problem: {said}"]
    assert run(["log", "dump", str(partition)]) == 1
    assert capsys.readouterr().err == f"odradek: {said}\n"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["meta.properties", ".kafka_cleanshutdown", "recovery-point-offset-checkpoint"])
def test_so_are_the_files_of_the_data_directory(name: str, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.truncate(data / name, HUGE_BYTES)
    assert run(["log", "verify", str(data)]) == 1
    (line,) = wrong(capsys)
    assert f"{data}/{name}: {HUGE_BYTES} bytes" in line


def test_every_kind_that_is_read_has_its_limit() -> None:
    assert set(LIMITS_BYTES) == set(Kind) - {Kind.UNKNOWN}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("leader-epoch-checkpoint", "0\n1\n0 " + "9" * 5000 + "\n"),
        ("quorum-state", "[" * 60_000),
        ("quorum-state", '{"data_version": 99}'),
        ("quorum-state", '{"data_version": "0"}'),
        ("quorum-state", "17"),
    ],
)
def test_numbers_and_brackets_without_end_are_damage(
    name: str, content: str, partition: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (partition / name).write_text(content)
    assert run(["log", "verify", str(partition)]) == 1
    (line,) = wrong(capsys)
    assert line.startswith(f"problem: {partition}/{name}:")
    assert run(["log", "dump", str(partition)]) == 1
    assert capsys.readouterr().err.startswith(f"odradek: {partition}/{name}:")


def test_an_unreadable_partition_does_not_spoil_the_others(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    deny(monkeypatch, data / "plain-0")
    assert run(["log", "verify", "--format", "json", str(data)]) == 1
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["problems"] == [f"{data}/plain-0: Permission denied"]
    assert [partition["topic"] for partition in outcome["partitions"]] == ["small-segments", "txn"]
    assert not [note for note in outcome["notes"] if "plain-0" in note]
    assert run(["log", "dump", "--format", "json", str(data)]) == 1
    captured = capsys.readouterr()
    assert captured.err == f"odradek: {data}/plain-0: Permission denied\n"
    assert {json.loads(line)["topic"] for line in captured.out.splitlines()} == {"small-segments", "txn"}


@pytest.mark.parametrize("base_offset", [0, 257, 514])
def test_an_unreadable_segment_is_one_problem_without_its_consequences(
    base_offset: int, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    segment = data / "small-segments-0" / f"{base_offset:020d}.log"
    deny(monkeypatch, segment)
    assert run(["log", "verify", "--format", "json", str(data)]) == 1
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["problems"] == [f"{segment}: Permission denied"]
    ends = {partition["topic"]: partition["end_offset"] for partition in outcome["partitions"]}
    assert ends == {"plain": 110, "txn": 63, "small-segments": None if base_offset == 514 else 615}


@pytest.mark.parametrize("name", [SEGMENT, "00000000000000000007.log"])
def test_nor_are_transactions_that_were_in_it_missed(
    name: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    deny(monkeypatch, data / "txn-0" / name)
    assert run(["log", "verify", str(data)]) == 1
    assert wrong(capsys) == [f"problem: {data}/txn-0/{name}: Permission denied"]


def test_other_problems_beside_an_unreadable_segment_are_still_found(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = data / "small-segments-0"
    os.truncate(directory / "00000000000000000257.index", 5)
    with (directory / "00000000000000000514.log").open("r+b") as file:
        file.seek(100)
        file.write(b"\xff\xff\xff")
    deny(monkeypatch, directory / "00000000000000000257.log")
    assert run(["log", "verify", str(data)]) == 1
    said = wrong(capsys)
    assert any("00000000000000000257.index:5: " in line for line in said)
    assert any("00000000000000000514.log:0: " in line for line in said)


def test_a_gap_before_a_snapshot_is_not_the_end_of_the_log(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A cleaned segment may end before the next one starts."""
    segment = data / "small-segments-0" / SEGMENT
    os.truncate(segment, segment.stat().st_size - 5000)
    assert run(["log", "verify", "-v", str(data)]) == 1
    assert not [line for line in wrong(capsys) if "but the log ends at" in line]


def test_a_missing_directory_does_not_leave_the_others_unchecked(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.truncate(data / "plain-0" / "00000000000000000000.index", 5)
    assert run(["log", "verify", str(tmp_path / "nope"), str(data / "plain-0")]) == 1
    captured = capsys.readouterr()
    assert captured.err == f"odradek: {tmp_path}/nope: No such file or directory\n"
    assert f"problem: {data}/plain-0/00000000000000000000.index:5: " in captured.out


def test_a_directory_named_twice_is_looked_at_once(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.truncate(data / "plain-0" / "00000000000000000000.index", 5)
    named = [str(data / "plain-0"), str(data), f"{data}/", f"{data}/plain-0/"]
    assert run(["log", "verify", *named]) == 1
    said = capsys.readouterr().out
    assert said.count("problem: ") == 1
    assert "\n3 partitions, " in said
    assert run(["log", "dump", "--format", "json", str(data / "txn-0"), f"{data}/txn-0/"]) == 0
    offsets = [json.loads(line)["offset"] for line in capsys.readouterr().out.splitlines()]
    assert len(offsets) == len(set(offsets))


def test_directories_that_only_sound_like_partitions_are_none(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in /etc, where there is a dbus-1."""
    for place in (tmp_path / "etc", data):
        (place / "dbus-1").mkdir(parents=True)
        (place / "dbus-1" / "session.conf").touch()
        (place / "polkit-1").mkdir()
    assert run(["log", "verify", str(tmp_path / "etc")]) == 1
    assert "neither a data directory" in capsys.readouterr().err
    assert run(["log", "verify", "-v", str(data)]) == 0
    said = capsys.readouterr().out
    assert f"note: {data}/dbus-1: has the name of a partition, but no files of Kafka" in said
    assert "\npolkit-1 " in said and "\ndbus-1 " not in said


def test_a_file_of_noise_is_a_few_lines_and_a_count(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    noise = b"".join((0x7FFFFFFF - 97 * number).to_bytes(8, "little") for number in range(625))
    (partition / "00000000000000000000.index").write_bytes(noise)
    assert run(["log", "verify", str(partition)]) == 1
    said = capsys.readouterr().out
    lines = [line for line in said.splitlines() if line.startswith("problem: ")]
    assert len(lines) == 6
    more = int(lines[-1].removeprefix(f"problem: {partition}/00000000000000000000.index: and ").split()[0])
    assert said.endswith(f"{more + 5} problems\n") and more > 600
    assert run(["log", "verify", "-v", str(partition)]) == 1
    assert len(wrong(capsys)) == more + 5


def test_progress_within_a_segment_is_plain_lines_on_a_pipe(
    partition: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("odradek.cli.base.output._PLAIN_INTERVAL_S", 0.0)
    assert run(["log", "verify", str(partition)]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith(f"{partition}/{SEGMENT}: ")]
    assert len(lines) == 8, "one for each batch"
    assert lines[0].endswith(": 0 % of 10679 bytes")


def test_progress_goes_on_while_damage_is_searched(
    partition: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("odradek.cli.base.output._PLAIN_INTERVAL_S", 0.0)
    os.truncate(partition / SEGMENT, 8 * 1024 * 1024)
    assert run(["log", "verify", str(partition)]) == 1
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith(f"{partition}/{SEGMENT}: ")]
    assert len(lines) > 8 + 7
