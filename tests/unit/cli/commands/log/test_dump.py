"""`odradek log dump` on Kafka's directories, whole and damaged."""

import json
from pathlib import Path
from typing import Any

import pytest

from odradek.cli.app import run
from support import vectors

FIELDS = ["topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers", "leader_epoch"]


def dumped(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert run(["log", "dump", "--format", "json", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return [json.loads(line) for line in captured.out.splitlines()]


def expected() -> list[dict[str, Any]]:
    lines = [{name: line[name] for name in FIELDS} for line in vectors.expected_lines()]
    return sorted(lines, key=lambda line: (line["topic"], line["partition"], line["offset"]))


@pytest.mark.parametrize("state", [vectors.CLEAN, vectors.UNCLEAN])
def test_records_are_those_that_a_client_got(state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = dumped(capsys, str(vectors.unpack(state, tmp_path)))
    assert all(list(line) == FIELDS for line in lines)
    assert [line for line in lines if not line["topic"].startswith("__")] == expected()


def test_control_records_on_demand(clean_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(clean_data / "txn-0")
    without = {line["offset"] for line in dumped(capsys, path)}
    markers = [
        line["decoded"]
        for line in dumped(capsys, "--control", "--decode", path)
        if line["offset"] not in without and line["key"] is not None
    ]
    assert [marker["type"] for marker in markers] == ["COMMIT", "ABORT"] * 3
    assert all(marker["data"] == {"coordinatorEpoch": 0} for marker in markers)


def test_internal_topics_are_decoded_on_demand(clean_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("__consumer_offsets-0", "__transaction_state-1", "__cluster_metadata-0")
    lines = dumped(capsys, "--decode", *(str(clean_data / name) for name in names))
    assert all("decoded" in line for line in lines)
    kinds = {(line["topic"], _kind(line["decoded"])) for line in lines}
    assert ("__consumer_offsets", "OffsetCommitKey") in kinds
    assert ("__transaction_state", "TransactionLogKey") in kinds
    assert {("__cluster_metadata", f"{name}Record") for name in ("Topic", "Partition", "RegisterBroker")} <= kinds
    topics = [line["decoded"]["data"]["name"] for line in lines if line["decoded"].get("type") == "TopicRecord"]
    assert {"plain", "txn", "compacted"} <= set(topics)


def _kind(decoded: dict[str, Any]) -> str:
    return str(decoded["type"] if "type" in decoded else decoded["key"]["type"])


def test_from_an_offset_on(clean_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = dumped(capsys, "--from", "600", str(clean_data / "small-segments-0"))
    assert [line["offset"] for line in lines] == list(range(600, 615))


@pytest.mark.parametrize(
    ("name", "expected_entry"),
    [
        ("plain-0/00000000000000000000.index", {"offset": 67, "position": 6207}),
        ("txn-0/00000000000000000007.txnindex", {"producer_id": 8, "first_offset": 8, "last_offset": 15}),
        ("txn-0/00000000000000000063.snapshot", {"producer_id": 7, "epoch": 1}),
        ("plain-0/leader-epoch-checkpoint", {"epoch": 0, "start_offset": 0}),
        ("recovery-point-offset-checkpoint", {"topic": "__consumer_offsets", "partition": 0, "offset": 6}),
        ("plain-0/partition.metadata", {"version": 0, "topic_id": "33AEpKJ9SjiC9Wisu-J9kQ"}),
        ("meta.properties", {"version": 1, "node_id": 1, "cluster_id": "bSXPc0xJod0nPk2Pq19b2w"}),
        ("__cluster_metadata-0/quorum-state", {"leaderId": 1, "leaderEpoch": 2}),
    ],
)
def test_entries_of_small_files(
    name: str, expected_entry: dict[str, Any], clean_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = dumped(capsys, str(clean_data / name))[0]
    assert expected_entry.items() <= first.items()
    assert first["file"] == str(clean_data / name)


def test_preallocated_zeros_are_no_entries(unclean_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = unclean_data / "plain-0" / "00000000000000000000.index"
    assert index.stat().st_size > 10_000_000
    assert len(dumped(capsys, str(index))) == 1


def test_text_shows_every_file(clean_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "dump", "--utc", str(clean_data)]) == 0
    said = capsys.readouterr().out
    for path in sorted(clean_data.rglob("*")):
        if path.is_file():
            assert f"{path}  (" in said
    assert "batch 0..6 at 0: 351 bytes, 7 records, epoch 0, transactional, producer 7 epoch 0, sequence 0..6" in said
    assert '"type": "TopicRecord", "version": 0, "data": {"name": "plain"' in said


def flip(path: Path, position: int, mask: int = 0xFF) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= mask
    path.write_bytes(data)


def test_a_damaged_batch_is_named_and_the_rest_is_shown(clean_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = clean_data / "plain-0" / "00000000000000000000.log"
    whole = dumped(capsys, str(log))
    flip(log, 100)  # in the records of the first batch
    assert run(["log", "dump", "--format", "json", str(log)]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(f"odradek: {log}:0: ")
    assert "CRC" in captured.err
    shown = [json.loads(line) for line in captured.out.splitlines()]
    assert shown and shown == whole[len(whole) - len(shown) :]


def test_after_an_impossible_length_the_next_batch_is_found(
    clean_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = clean_data / "txn-0" / "00000000000000000007.log"
    flip(log, 78 + 8)  # the length of the second batch
    assert run(["log", "dump", "--format", "json", str(log)]) == 1
    captured = capsys.readouterr()
    assert f"{log}:78: " in captured.err
    assert "continued with the batch at 314" in captured.err
    assert json.loads(captured.out.splitlines()[0])["offset"] == 16


def test_a_log_cut_short(clean_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = clean_data / "zstd-0" / "00000000000000000000.log"
    log.write_bytes(log.read_bytes()[:-1])
    assert run(["log", "dump", "--format", "json", str(log)]) == 1
    captured = capsys.readouterr()
    assert "are left" in captured.err
    assert captured.out


def test_zeros_at_the_end_are_said_as_such(clean_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = clean_data / "zstd-0" / "00000000000000000000.log"
    size = log.stat().st_size
    with log.open("ab") as file:
        file.write(bytes(500))
    assert run(["log", "dump", str(log)]) == 1
    assert f"{log}:{size}: 500 zero bytes up to the end of the file" in capsys.readouterr().err


def test_damaged_small_files(clean_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    partition = clean_data / "txn-0"
    flip(partition / "00000000000000000063.snapshot", 20)
    (partition / "00000000000000000007.txnindex").write_bytes(b"123")
    (partition / "leader-epoch-checkpoint").write_text("0\n1\nzero 0\n")
    assert run(["log", "dump", str(partition)]) == 1
    captured = capsys.readouterr()
    assert "00000000000000000063.snapshot:2: stored CRC" in captured.err
    assert "00000000000000000007.txnindex:3: 3 bytes are no multiple of the 34 of an entry" in captured.err
    assert "leader-epoch-checkpoint:3: " in captured.err
    assert "topic_id" in captured.out


def test_a_missing_path_does_not_hide_the_others(clean_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(clean_data / "nowhere"), str(clean_data / "plain-1")]
    assert run(["log", "dump", "--format", "json", *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.err == f"odradek: {clean_data}/nowhere: No such file or directory\n"
    assert len(captured.out.splitlines()) == 25


def test_batches_as_json(clean_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batches = dumped(capsys, "--batches", str(clean_data / "txn-0"))
    assert len(batches) == 13, "as many as verify counts, control batches too"
    header = {"topic": "txn", "partition": 0, "base_offset": 0, "last_offset": 6, "position": 0, "size_bytes": 351}
    header |= {"count": 7, "magic": 2, "leader_epoch": 0, "crc": 4289372303, "compression": "none", "timestamp_type": 1}
    header |= {"base_timestamp": 1700000000000, "max_timestamp": 1700000006000, "delete_horizon_ms": None}
    header |= {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    header |= {"is_transactional": True, "is_control": False}
    assert batches[0] == header
    assert next(batch["base_offset"] for batch in batches if batch["is_control"]) == 7
    assert dumped(capsys, "--batches", "--from", "60", str(clean_data / "txn-0"))[0]["last_offset"] >= 60


@pytest.mark.parametrize(
    "name", ["bootstrap.checkpoint", "__cluster_metadata-0/00000000000000000042-0000000001.checkpoint"]
)
def test_a_snapshot_holds_records_of_the_metadata_log(
    name: str, clean_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = dumped(capsys, str(clean_data / name))
    assert {(line["topic"], line["partition"]) for line in lines} == {("__cluster_metadata", 0)}


@pytest.mark.parametrize("format", ["text", "json"])
def test_a_named_file_that_is_not_kafkas_is_an_error(
    format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "junk").write_text("hello")
    assert run(["log", "dump", "--format", format, str(tmp_path / "junk")]) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == (
        "",
        f"odradek: {tmp_path}/junk: not a file of an Apache Kafka data directory\n",
    )


def test_a_quorum_state_for_people(clean_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "dump", str(clean_data / "__cluster_metadata-0" / "quorum-state")]) == 0
    assert capsys.readouterr().out.splitlines()[1].split("  ")[1:] == [
        *('cluster_id ""', "leader_id 1", "leader_epoch 2", "voted_id none", "applied_offset 0"),
        *("current_voters 1", "data_version 0"),
    ]


def test_an_offset_below_zero_is_wrong_usage(clean_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "dump", "--from", "-5", str(clean_data / "plain-0")]) == 2
    assert "-5" in capsys.readouterr().err


def test_help_says_what_the_json_of_a_directory_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "dump", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "It leaves out" in said
    assert all(word in said for word in (".deleted", "snapshots", "control records without --control"))
