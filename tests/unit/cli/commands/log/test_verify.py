"""`odradek log verify` finds nothing wrong with what Kafka wrote, and everything that is done to it."""

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.cli.app import run
from support import figures, vectors


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpacked once; tests that damage something take a copy of the partition."""
    return vectors.unpack(vectors.CLEAN, tmp_path_factory.mktemp("pristine"))


def fingerprint(directory: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path.relative_to(directory)): (hashlib.sha1(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("state", [vectors.CLEAN, vectors.UNCLEAN])
def test_kafkas_directories_are_in_order_and_stay_as_they_are(
    state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = vectors.unpack(state, tmp_path)
    before = fingerprint(data)
    assert run(["log", "verify", "--format", "json", str(data)]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["problems"] == []
    ends = {f"{p['topic']}-{p['partition']}": p["end_offset"] for p in outcome["partitions"]}
    assert ends["small-segments-0"] == 615 and ends["compacted-0"] == 135 and ends["txn-0"] == 63
    assert len(ends) == 15
    assert fingerprint(data) == before


def test_the_table_for_people(clean_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "verify", str(clean_data / "plain-0")]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].split()[:4] == ["partition", "segments", "batches", "records"]
    assert said[1].split()[:4] == ["plain-0", "1", "8", "110"]
    assert said[-1] == "1 partition, 110 records, 10679 bytes: no problems"


def test_notes_on_files_besides_the_live_ones(
    pristine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Apache Kafka has `.lock` in every data directory, and names files by what becomes of them."""
    data = tmp_path / "data"
    shutil.copytree(pristine, data)
    (data / ".lock").touch()
    (data / "junk").touch()
    name = f"plain-0/{7:020d}.log"
    for suffix in (".deleted", ".cleaned", ".swap", ".cleaned.deleted"):
        (data / f"{name}{suffix}").touch()
    (data / "plain-0/junk").touch()
    assert run(["log", "verify", "-v", str(data)]) == 0
    output = capsys.readouterr().out
    assert f"{data}/.lock" not in output
    assert f"note: {data}/junk: not a file of an Apache Kafka data directory" in output
    assert f"note: {data}/plain-0/junk: not a file of an Apache Kafka partition" in output
    assert f"note: {data}/{name}.deleted: deleted from the log; the file is removed after" in output
    assert f"note: {data}/{name}.cleaned: written by a compaction that has not finished" in output
    assert f"note: {data}/{name}.swap: written by a compaction; it replaces the old segments" in output
    assert f"note: {data}/{name}.cleaned.deleted: deleted from the log" in output


def overwrite(path: Path, position: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        file.write(data)


def log_of(partition: Path) -> Path:
    return min(partition.glob("*.log"))


def damage_records(partition: Path) -> None:
    overwrite(log_of(partition), 100, b"\xff\xff\xff")


def damage_length(partition: Path) -> None:
    overwrite(log_of(partition), 8, b"\x7f")


def damage_offset(partition: Path) -> None:
    overwrite(log_of(partition), 0, (50).to_bytes(8, "big"))


def damage_epoch(partition: Path) -> None:
    overwrite(log_of(partition), 12, (9).to_bytes(4, "big"))


def cut_the_log(partition: Path) -> None:
    os.truncate(log_of(partition), log_of(partition).stat().st_size - 7)


def append_zeros(partition: Path) -> None:
    os.truncate(log_of(partition), log_of(partition).stat().st_size + 7)


def damage_index_position(partition: Path) -> None:
    overwrite(min(partition.glob("*.index")), 4, (77).to_bytes(4, "big"))


def damage_index_offset(partition: Path) -> None:
    overwrite(min(partition.glob("*.index")), 0, (3).to_bytes(4, "big"))


def cut_the_index(partition: Path) -> None:
    os.truncate(min(partition.glob("*.index")), 5)


def damage_time(partition: Path) -> None:
    overwrite(min(partition.glob("*.timeindex")), 0, (77).to_bytes(8, "big"))


def damage_time_offset(partition: Path) -> None:
    overwrite(min(partition.glob("*.timeindex")), 8, (900).to_bytes(4, "big"))


def remove_index(partition: Path) -> None:
    min(partition.glob("*.index")).unlink()


def orphan_index(partition: Path) -> None:
    (partition / "00000000000000007777.index").touch()


def damage_snapshot(partition: Path) -> None:
    overwrite(min(partition.glob("*.snapshot")), 12, b"\x05")


def snapshot_beyond_the_end(partition: Path) -> None:
    shutil.copy(min(partition.glob("*.snapshot")), partition / "00000000000000007777.snapshot")


def snapshot_of_another(partition: Path) -> None:
    shutil.copy(partition.parent / "txn-0" / "00000000000000000063.snapshot", min(partition.glob("*.snapshot")))


def damage_epochs(partition: Path) -> None:
    (partition / "leader-epoch-checkpoint").write_text("0\n1\n5 0\n")


def backward_epochs(partition: Path) -> None:
    (partition / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n0 100\n")


def epoch_beyond_the_end(partition: Path) -> None:
    (partition / "leader-epoch-checkpoint").write_text("0\n3\n0 0\n2 102\n7 7777\n")


def nonsense_epochs(partition: Path) -> None:
    (partition / "leader-epoch-checkpoint").write_text("nonsense\n")


def damage_partition_metadata(partition: Path) -> None:
    (partition / "partition.metadata").write_text("version: 0\ntopic_id: nonsense\n")


DAMAGES: list[Callable[[Path], None]] = [
    *(damage_records, damage_length, damage_offset, damage_epoch, cut_the_log, append_zeros),
    *(damage_index_position, damage_index_offset, cut_the_index, damage_time, damage_time_offset),
    *(remove_index, orphan_index, damage_snapshot, snapshot_beyond_the_end, snapshot_of_another),
    *(damage_epochs, backward_epochs, epoch_beyond_the_end, nonsense_epochs, damage_partition_metadata),
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_every_kind_of_damage_is_found(
    damage: Callable[[Path], None], pristine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("plain-0", "txn-0"):
        shutil.copytree(pristine / name, tmp_path / name)
    damage(tmp_path / "plain-0")
    assert run(["log", "verify", str(tmp_path / "plain-0")]) == 1
    captured = capsys.readouterr()
    assert f"problem: {tmp_path}/plain-0" in captured.out
    assert captured.err == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is in the segment and not in the index"),
        (bytes(34), "is in the index and not in the segment"),
        (b"\x00\x01" + bytes(32), "an entry of version 1"),
    ],
)
def test_a_wrong_transaction_index_is_found(
    content: bytes, said: str, pristine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(pristine / "txn-0", tmp_path / "txn-0")
    (tmp_path / "txn-0" / "00000000000000000007.txnindex").write_bytes(content)
    assert run(["log", "verify", str(tmp_path / "txn-0")]) == 1
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("recovery-point-offset-checkpoint", "0\n1\nplain 0 111\n", "offset 111 for plain-0, whose log ends at 110"),
        ("log-start-offset-checkpoint", "0\n1\nplain 0 -1\n", "offset -1 for plain-0"),
        ("replication-offset-checkpoint", "0\n2\nplain 0 1\n", "replication-offset-checkpoint"),
        ("cleaner-offset-checkpoint", "9\n0\n", "cleaner-offset-checkpoint"),
        ("meta.properties", "version=7\n", "meta.properties"),
        ("bootstrap.checkpoint", "", "a snapshot without its header or its footer"),
    ],
)
def test_files_of_the_data_directory_are_checked(
    name: str, content: str, said: str, pristine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    shutil.copytree(pristine, data)
    (data / name).write_text(content)
    assert run(["log", "verify", str(data)]) == 1
    captured = capsys.readouterr()
    assert f"problem: {data}/{name}" in captured.out
    assert said in captured.out


@pytest.mark.parametrize("partition", ["plain-1", "txn-0", "gzip-0", "compacted-0", "__cluster_metadata-0"])
def test_any_flipped_bit_of_a_log_is_found_and_nothing_breaks(
    partition: str, pristine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a log every bit counts; in the other files it may be one that nobody reads, but never a traceback."""
    shutil.copytree(pristine / partition, tmp_path / partition)
    chance = random.Random(f"flips of {partition}")
    flips = found = 0
    for path in sorted((tmp_path / partition).iterdir()):
        if path.suffix == ".deleted" or not path.stat().st_size:
            continue
        original = path.read_bytes()
        for _ in range(25 if path.suffix == ".log" else 4):
            data = bytearray(original)
            position = chance.randrange(len(data))
            data[position] ^= 1 << chance.randrange(8)
            path.write_bytes(data)
            status = run(["log", "verify", str(tmp_path / partition)])
            said = capsys.readouterr().out
            flips += 1
            found += status
            assert status == 1 or path.suffix != ".log", f"{path}:{position} was not found\n{said}"
        path.write_bytes(original)
    assert run(["log", "verify", str(tmp_path / partition)]) == 0
    figures.report("verify: flipped bits", partition=partition, flips=flips, found=found)
