"""`odradek metadata`: an image as a tree, out of snapshots, directories and running clusters."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from crc32c import crc32c

from odradek import __version__
from odradek.cli.app import run
from odradek.cli.commands.metadata.image_tree import REDACTED
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.message import Message
from odradek.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from odradek.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData
from odradek.protocol.messages.config_record import ConfigRecord
from odradek.protocol.messages.delegation_token_record import DelegationTokenRecord
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from odradek.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from odradek.records.batch import ATTRIBUTES_AT, read_batches
from support import vectors
from support.builders.metadata import replayed, snapshot_bytes
from support.builders.metadata_records import first_records
from support.fakes.quorum import FakeQuorum, running_in_thread

Captured = pytest.CaptureFixture[str]

SEGMENT = "00000000000000000000.log"
SNAPSHOT = "00000000000000000148-0000000002.checkpoint"

#: As Kafka's shell shows the same log.
TOP = {
    "acls": ["byId"],
    "clientQuotas": [],
    "cluster": ["brokers", "controllers"],
    "configs": [
        *("BROKER", "TOPIC:__consumer_offsets", "TOPIC:__transaction_state", "TOPIC:append-time", "TOPIC:compacted"),
        "TOPIC:small-segments",
    ],
    "delegationToken": [],
    "features": [
        *(f"finalized_{name}.version" for name in ("eligible.leader.replicas", "group", "share", "streams")),
        *("finalized_transaction.version", "metadataVersion"),
    ],
    "producerIds": ["nextProducerId"],
    "provenance": ["offset", "epoch", "time"],
    "scram": ["SCRAM-SHA-256", "SCRAM-SHA-512"],
    "topics": ["byId", "byName"],
}


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return vectors.unpack(vectors.CLEAN, tmp_path_factory.mktemp("clean"))


@pytest.fixture
def log_dir(clean: Path, tmp_path: Path) -> Path:
    """A copy of the metadata log, for tests that do something to it."""
    return Path(shutil.copytree(clean / "__cluster_metadata-0", tmp_path / "__cluster_metadata-0"))


def cat(capsys: Captured, path: str, *options: str | Path) -> Any:
    assert run(["metadata", "cat", path, "--format", "json", *map(str, options)]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: Captured, *arguments: str | Path) -> str:
    assert run(["metadata", *map(str, arguments)]) == 1
    told = capsys.readouterr().err
    assert told.startswith("odradek: ") and len(told.splitlines()) == 1
    return told.removeprefix("odradek: ").rstrip("\n")


def offset(capsys: Captured, source: Path) -> int:
    found: int = cat(capsys, "image/provenance", "-s", source)["offset"]
    return found


def test_the_tree_has_the_names_of_kafkas_shell(clean: Path, capsys: Captured) -> None:
    assert run(["metadata", "tree", "-s", str(clean), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {name: list(content) for name, content in document["image"].items()} == TOP
    assert list(document["image"]["topics"]["byName"]["plain"]) == ["0", "1", "id", "name"]
    assert document["local"] == {"commitId": "unknown", "version": __version__}


def test_the_tree_for_people(clean: Path, capsys: Captured) -> None:
    assert run(["metadata", "tree", "image/features", "-s", str(clean)]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == ["finalized_transaction.version: 2", "metadataVersion: 4.3-IV0"]
    assert run(["metadata", "tree", "-s", str(clean)]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("      plain/")
    assert lines[at + 1] == (
        "        0: leader=-1 leaderEpoch=3 partitionEpoch=3 replicas=[1] elr=[1] lastKnownElr=[1] "
        "leaderRecoveryState=RECOVERED directories=[KwYwOWzccvs2_rOX9XvTDQ]"
    )
    assert lines[at + 3 : at + 5] == ["        id: 33AEpKJ9SjiC9Wisu-J9kQ", "        name: plain"]


def test_cat_prints_what_is_there_as_json(clean: Path, capsys: Captured) -> None:
    """The broker had been stopped: the last replica in sync is eligible, and nobody leads."""
    assert run(["metadata", "cat", "image/topics/byName/gzip/0", "-s", str(clean)]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "replicas": [1],
        "directories": ["KwYwOWzccvs2_rOX9XvTDQ"],
        "isr": [],
        "removingReplicas": [],
        "addingReplicas": [],
        "elr": [1],
        "lastKnownElr": [1],
        "leader": -1,
        "leaderRecoveryState": "RECOVERED",
        "leaderEpoch": 3,
        "partitionEpoch": 3,
    }
    assert run(["metadata", "cat", "image/topics/byName/plain", "-s", str(clean)]) == 0
    text = capsys.readouterr().out
    assert list(json.loads(text)) == ["0", "1", "id", "name"]
    assert max(map(len, text.splitlines())) <= 100 and '    "replicas": [1],' in text.splitlines()
    assert cat(capsys, "/image/producerIds/", "-s", clean) == {"nextProducerId": 1000}
    assert cat(capsys, "image/configs/TOPIC:append-time", "-s", clean) == {"message.timestamp.type": "LogAppendTime"}


def test_a_directory_is_read_to_its_end_and_a_snapshot_to_its_own(clean: Path, capsys: Captured) -> None:
    log_dir = clean / "__cluster_metadata-0"
    assert offset(capsys, clean) == offset(capsys, log_dir) == offset(capsys, log_dir / SEGMENT) == 172
    assert offset(capsys, log_dir / SNAPSHOT) == 147
    assert cat(capsys, "image/cluster/brokers/1", "-s", clean)["inControlledShutdown"] is True
    assert cat(capsys, "image/cluster/brokers/1", "-s", log_dir / SNAPSHOT)["inControlledShutdown"] is False


def test_a_snapshot_and_the_whole_log_give_the_same(log_dir: Path, capsys: Captured) -> None:
    with_snapshot = cat(capsys, "image", "-s", log_dir)
    for snapshot in log_dir.glob("*.checkpoint"):
        snapshot.unlink()
    assert cat(capsys, "image", "-s", log_dir) == with_snapshot


def test_nothing_in_the_directory_changes(log_dir: Path, capsys: Captured) -> None:
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in log_dir.iterdir()}
    os.chmod(log_dir, 0o500)
    assert run(["metadata", "tree", "-s", str(log_dir)]) == 0
    os.chmod(log_dir, 0o700)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in log_dir.iterdir()} == before


def test_a_batch_that_is_being_written_ends_the_log(log_dir: Path, capsys: Captured) -> None:
    segment = log_dir / SEGMENT
    whole = segment.read_bytes()
    last = list(read_batches(whole))[-1]
    for missing in (1, last.size_bytes - 5, last.size_bytes - 70):
        segment.write_bytes(whole[: len(whole) - missing])
        assert offset(capsys, log_dir) == last.base_offset - 1


def test_segments_follow_each_other(log_dir: Path, capsys: Captured) -> None:
    segment = log_dir / SEGMENT
    batches = list(read_batches(segment.read_bytes()))
    middle = next(batch for batch in batches if batch.base_offset > 150)
    data = segment.read_bytes()
    at = sum(batch.size_bytes for batch in batches if batch.base_offset < middle.base_offset)
    segment.write_bytes(data[:at])
    (log_dir / f"{middle.base_offset:020d}.log").write_bytes(data[at:])
    assert offset(capsys, log_dir) == 172
    segment.write_bytes(data[: at - 1])
    assert "is missing: a batch begins at" in refused(capsys, "tree", "-s", log_dir)


def test_a_log_behind_the_snapshot_is_passed_over(log_dir: Path, capsys: Captured) -> None:
    """As after a snapshot was fetched and before the node has truncated its log."""
    segment = log_dir / SEGMENT
    segment.write_bytes(segment.read_bytes()[:1000])
    assert offset(capsys, log_dir) == 147


def test_what_is_dropped_while_we_look_is_looked_for_again(
    log_dir: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node has taken a newer snapshot and dropped the one that was listed."""
    newest = log_dir / SNAPSHOT
    gone = log_dir / "00000000000000000170-0000000002.checkpoint"
    listed, listdir = [[*os.listdir(log_dir), gone.name]], os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: listed.pop() if listed else listdir(path))
    assert offset(capsys, log_dir) == 172
    assert not listed and newest.exists()


def test_damage_is_told_with_its_place(log_dir: Path, capsys: Captured) -> None:
    segment = log_dir / SEGMENT
    data = bytearray(segment.read_bytes())
    data[-10] ^= 1
    segment.write_bytes(data)
    position = len(data) - list(read_batches(data))[-1].size_bytes
    assert refused(capsys, "tree", "-s", log_dir).startswith(f"{segment}:{position}: batch at offset 172: stored CRC")
    cut = log_dir.parent / SNAPSHOT
    cut.write_bytes((log_dir / SNAPSHOT).read_bytes()[:-1])
    assert refused(capsys, "tree", "-s", cut) == f"{cut}: the snapshot has no footer: it is not whole"


@pytest.mark.parametrize("name", [SEGMENT, SNAPSHOT])
def test_damage_that_a_crc_does_not_show_is_told_too(log_dir: Path, name: str, capsys: Captured) -> None:
    """Whatever a batch holds, there is a tree or one line about it."""
    path, random = log_dir.parent / name, Random(name)
    whole = (log_dir / name).read_bytes()
    for _ in range(150):
        data = bytearray(whole)
        batch = random.choice(list(read_batches(whole)))
        start = whole.index(bytes(batch.buffer))
        for _ in range(random.randint(1, 3)):
            data[start + random.randrange(ATTRIBUTES_AT, batch.size_bytes)] = random.choice((0, 1, 127, 128, 255))
        crc = crc32c(bytes(data[start + ATTRIBUTES_AT : start + batch.size_bytes]))
        data[start + ATTRIBUTES_AT - 4 : start + ATTRIBUTES_AT] = crc.to_bytes(4, "big")
        path.write_bytes(data)
        status = run(["metadata", "tree", "-s", str(path)])
        told = capsys.readouterr()
        assert (status == 0 and told.out and not told.err) or (status == 1 and len(told.err.splitlines()) == 1)


def test_what_holds_no_metadata_is_refused(clean: Path, tmp_path: Path, capsys: Captured) -> None:
    assert "there is no metadata log in it" in refused(capsys, "tree", "-s", tmp_path)
    assert refused(capsys, "tree", "-s", tmp_path / "none").endswith("No such file or directory")
    assert "is no regular file" in refused(capsys, "tree", "-s", "/dev/zero")
    (tmp_path / "empty").touch()
    assert "holds no batches" in refused(capsys, "tree", "-s", tmp_path / "empty")
    (tmp_path / "text").write_text("no batch of records at all\n")
    assert "holds no batches" in refused(capsys, "tree", "-s", tmp_path / "text")
    (tmp_path / "zeros").write_bytes(bytes(100))
    assert refused(capsys, "tree", "-s", tmp_path / "zeros").startswith(f"{tmp_path}/zeros:0: batch at position 0: ")
    assert "what is at offset 0 is no metadata record" in refused(capsys, "tree", "-s", clean / "gzip-0" / SEGMENT)
    (tmp_path / "later.log").write_bytes((clean / "__cluster_metadata-0" / SEGMENT).read_bytes()[91:])
    assert "begins at offset 1" in refused(capsys, "tree", "-s", tmp_path / "later.log")


def test_a_wrong_path_says_what_is_there(clean: Path, capsys: Captured) -> None:
    assert refused(capsys, "cat", "images", "-s", clean) == "images: the root has no child images, only image, local"
    assert refused(capsys, "cat", "image/cluster/broker/1", "-s", clean) == (
        "image/cluster/broker/1: image/cluster has no child broker, only brokers, controllers"
    )
    assert refused(capsys, "cat", "image/topics/byName/gzip/0/leader", "-s", clean).endswith(
        "is a value and has no children"
    )
    assert refused(capsys, "tree", "image/clientQuotas/x", "-s", clean).endswith("only nothing")


def test_a_source_is_a_file_or_a_cluster(clean: Path, capsys: Captured) -> None:
    assert run(["metadata", "tree", "-s", str(clean), "-b", "localhost:9092"]) == 2
    assert "exclude each other" in capsys.readouterr().err


def secret_records() -> list[Message]:
    user = EntityData(entity_type="user", entity_name="a(b")
    client = EntityData(entity_type="client-id", entity_name="x/y")
    return [
        *first_records(),
        ConfigRecord(resource_type=4, resource_name="1", name="ssl.key.password", value="hush"),
        ConfigRecord(resource_type=4, resource_name="1", name="log.retention.ms", value="5"),
        ConfigRecord(resource_type=32, resource_name="one/two", name="consumer.session.timeout.ms", value="45000"),
        ClientQuotaRecord(entity=[user, client], key="producer_byte_rate", value=7.5),
        ClientQuotaRecord(entity=[EntityData(entity_type="user", entity_name=None)], key="request_percentage", value=1),
        AccessControlEntryRecord(
            id=bytes(15) + b"\x01",
            resource_type=2,
            resource_name="orders",
            pattern_type=4,
            principal="User:alice",
            host="*",
            operation=3,
            permission_type=3,
        ),
        UserScramCredentialRecord(
            name="alice", mechanism=2, salt=b"\x01", stored_key=b"\x02", server_key=b"\x03", iterations=8192
        ),
        DelegationTokenRecord(
            owner="User:a", requester="User:a", renewers=["User:r"], issue_timestamp=1, token_id="t1"
        ),
    ]


@pytest.fixture
def secret_snapshot(tmp_path: Path) -> Path:
    records: list[MetadataRecord] = list(replayed(secret_records()).records())
    path = tmp_path / "00000000000000000009-0000000001.checkpoint"
    path.write_bytes(snapshot_bytes(records, 0, 1))
    return path


def test_keys_and_passwords_are_shown_only_when_asked_for(secret_snapshot: Path, capsys: Captured) -> None:
    user, broker = "image/scram/SCRAM-SHA-512/alice", "image/configs/BROKER:1"
    hidden = cat(capsys, user, "-s", secret_snapshot)
    assert hidden == {"salt": REDACTED, "storedKey": REDACTED, "serverKey": REDACTED, "iterations": 8192}
    shown = cat(capsys, user, "-s", secret_snapshot, "--secrets")
    assert shown == {"salt": "01", "storedKey": "02", "serverKey": "03", "iterations": 8192}
    assert cat(capsys, broker, "-s", secret_snapshot) == {"log.retention.ms": "5", "ssl.key.password": REDACTED}
    assert cat(capsys, broker, "-s", secret_snapshot, "--secrets")["ssl.key.password"] == "hush"


def test_names_may_hold_slashes_and_brackets(secret_snapshot: Path, capsys: Captured) -> None:
    quotas = cat(capsys, "image/clientQuotas", "-s", secret_snapshot)
    assert list(quotas) == ["clientId(x/y)_user(a\\(b)", "user(<default>)"]
    rate = "image/clientQuotas/clientId(x/y)_user(a\\(b)/producer_byte_rate"
    assert cat(capsys, rate, "-s", secret_snapshot) == 7.5
    assert cat(capsys, "image/configs/GROUP:one/two/consumer.session.timeout.ms", "-s", secret_snapshot) == "45000"


def test_entries_and_tokens_are_in_words(secret_snapshot: Path, capsys: Captured) -> None:
    assert cat(capsys, "image/acls/byId/AAAAAAAAAAAAAAAAAAAAAQ", "-s", secret_snapshot) == {
        "resourceType": "TOPIC",
        "resourceName": "orders",
        "patternType": "PREFIXED",
        "principal": "User:alice",
        "host": "*",
        "operation": "READ",
        "permissionType": "ALLOW",
    }
    assert cat(capsys, "image/delegationToken/t1", "-s", secret_snapshot)["renewers"] == ["User:r"]


@pytest.fixture
def leader(clean: Path) -> Iterator[FakeQuorum]:
    data = (clean / "__cluster_metadata-0" / SEGMENT).read_bytes()
    answer = PartitionData(high_watermark=173, records=data)

    def fetch(_: int, request: FetchRequest) -> FetchResponse:
        topic = FetchableTopicResponse(topic_id=request.topics[0].topic_id, partitions=[answer])
        return FetchResponse(responses=[topic])

    with running_in_thread(FakeQuorum({ApiKey.FETCH: fetch})) as quorum:
        yield quorum


def test_a_running_cluster_shows_the_same(leader: FakeQuorum, clean: Path, capsys: Captured) -> None:
    address = str(leader.addresses[1])
    assert cat(capsys, "image", "--bootstrap-controller", address) == cat(capsys, "image", "-s", clean)
