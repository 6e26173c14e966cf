"""`odradek storage`: what it writes, what it says, and what it refuses."""

import json
from pathlib import Path

import pytest

from odradek.cli.app import run
from odradek.common.files import OsFileSystem
from odradek.common.ids import uuid_from_text, uuid_to_text
from odradek.log.manager.meta_properties import read_meta_properties
from support.processes.storage import CLUSTER_ID, read_checkpoint, tree, write_config

FIRST_SNAPSHOT = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
FEATURES = {
    "metadata.version": 30,
    "eligible.leader.replicas.version": 1,
    "group.version": 1,
    "transaction.version": 2,
}


def format_node(config: Path, *options: str, cluster_id: str = CLUSTER_ID) -> int:
    return run(["storage", "format", "-t", cluster_id, "-c", str(config), *options])


def features_of(path: Path) -> dict[str, int]:
    header, records, footer = read_checkpoint(path).batches
    assert header[0] and header[1][0][0] == "SnapshotHeaderRecord"
    assert footer == (True, [("SnapshotFooterRecord", 0, {"version": 0})])
    return {content["name"]: content["featureLevel"] for kind, _, content in records[1] if kind == "FeatureLevelRecord"}


def test_random_uuids_are_uuids_and_differ(capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for _ in range(3):
        assert run(["storage", "random-uuid"]) == 0
        texts.append(capsys.readouterr().out.strip())
    assert len(set(texts)) == 3
    assert all(len(uuid_from_text(text)) == 16 and not text.startswith("-") for text in texts)
    assert run(["storage", "random-uuid", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["uuid"]) == 22


def test_every_directory_is_marked_and_has_the_bootstrap_records(tmp_path: Path) -> None:
    assert format_node(write_config(tmp_path, tmp_path)) == 0
    metas = [read_meta_properties(OsFileSystem(), str(tmp_path / name)) for name in ("one", "two")]
    assert all(meta and (meta.version, meta.cluster_id, meta.node_id) == (1, CLUSTER_ID, 1) for meta in metas)
    assert len({meta.directory_id for meta in metas if meta}) == 2
    assert features_of(tmp_path / "one/bootstrap.checkpoint") == FEATURES
    assert list(tree(tmp_path)) == [
        *("one/bootstrap.checkpoint", "one/meta.properties", "server.properties"),
        *("two/bootstrap.checkpoint", "two/meta.properties"),
    ]


def test_standalone_is_the_only_voter_of_a_dynamic_quorum(tmp_path: Path) -> None:
    assert format_node(write_config(tmp_path, tmp_path, dynamic=True), "--standalone") == 0
    meta = read_meta_properties(OsFileSystem(), str(tmp_path / "one"))
    assert meta is not None and meta.directory_id is not None
    (_, header), _ = read_checkpoint(tmp_path / "one" / FIRST_SNAPSHOT).batches
    assert [kind for kind, _, _ in header] == ["SnapshotHeaderRecord", "KRaftVersionRecord", "VotersRecord"]
    assert header[1][2]["kRaftVersion"] == 1
    (voter,) = header[2][2]["voters"]
    assert voter["voterDirectoryId"] == uuid_to_text(meta.directory_id)
    assert voter["endpoints"] == [{"name": "CONTROLLER", "host": "localhost", "port": 9093}]
    assert not (tmp_path / "two" / FIRST_SNAPSHOT).exists()


def test_initial_controllers_name_the_directory_of_this_node(tmp_path: Path) -> None:
    ids = ["JEXY6aqzQY-32P5TStzaFg", "MvDxzVmcRsaTz33bUuRU6A"]
    controllers = f"1@localhost:9093:{ids[0]},2@[::1]:9094:{ids[1]}"
    assert format_node(write_config(tmp_path, tmp_path, dynamic=True), "--initial-controllers", controllers) == 0
    meta = read_meta_properties(OsFileSystem(), str(tmp_path / "one"))
    assert meta is not None and meta.directory_id == uuid_from_text(ids[0])
    (_, header), _ = read_checkpoint(tmp_path / "one" / FIRST_SNAPSHOT).batches
    voters = header[2][2]["voters"]
    assert [(voter["voterId"], voter["voterDirectoryId"]) for voter in voters] == [(1, ids[0]), (2, ids[1])]
    assert voters[1]["endpoints"][0]["host"] == "::1"


def test_a_node_that_joins_later_has_no_voters(tmp_path: Path) -> None:
    assert format_node(write_config(tmp_path, tmp_path, dynamic=True), "--no-initial-controllers") == 0
    assert not (tmp_path / "one" / FIRST_SNAPSHOT).exists()


def test_features_of_another_release_and_one_of_their_own(tmp_path: Path) -> None:
    config = write_config(tmp_path, tmp_path)
    assert format_node(config, "--release-version", "4.0", "--feature", "transaction.version=1") == 0
    assert features_of(tmp_path / "one/bootstrap.checkpoint") == {
        "metadata.version": 25,
        "group.version": 1,
        "transaction.version": 1,
    }


def test_a_user_is_written_with_keys_and_without_the_password(tmp_path: Path) -> None:
    """The example of RFC 7677."""
    scram = 'SCRAM-SHA-256=[name=user,password=pencil,salt="W22ZaJ0SNY7soEsUEjb6gQ==",iterations=4096]'
    assert format_node(write_config(tmp_path, tmp_path), "--add-scram", scram) == 0
    _, (_, records), _ = read_checkpoint(tmp_path / "one/bootstrap.checkpoint").batches
    kind, version, content = records[-1]
    assert (kind, version) == ("UserScramCredentialRecord", 0)
    assert content["serverKey"] == "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    assert content["storedKey"] == "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="
    assert b"pencil" not in (tmp_path / "one/bootstrap.checkpoint").read_bytes()


def test_formatted_directories_stay_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_config(tmp_path, tmp_path)
    assert format_node(config) == 0
    (tmp_path / "two/meta.properties").unlink()
    before = tree(tmp_path / "one")
    capsys.readouterr()
    assert format_node(config) == 1
    assert capsys.readouterr().err.startswith(f"odradek: {tmp_path}/one is formatted already.")
    assert not (tmp_path / "two/meta.properties").exists()
    assert format_node(config, "--ignore-formatted") == 0
    assert tree(tmp_path / "one") == before
    assert (tmp_path / "two/meta.properties").exists()


@pytest.mark.parametrize(
    ("dynamic", "options", "message"),
    [
        (False, ["--standalone"], "controller.quorum.voters: it is set"),
        (False, ["--feature", "kraft.version=1"], "--feature kraft.version=1: "),
        (False, ["--feature", "no.version=1"], '--feature: there is no "no.version". Known ones: eligible'),
        (False, ["--feature", "group.version"], '--feature "group.version" has no level.'),
        (False, ["--feature", "group.version=x"], '"x" is no level.'),
        (False, ["--feature", "group.version=7"], "--feature group.version=7: No feature:group.version"),
        (False, ["--feature", "metadata.version=2"], "there is no such level, only 7 to 30"),
        (False, ["--feature", "metadata.version=29", "--release-version", "4.2"], "give one of the two"),
        (False, ["--release-version", "9.9"], '"9.9" is not a valid metadata.version'),
        (False, ["--release-version", "3.9", "--feature", "eligible.leader.replicas.version=1"], "it depends on"),
        (False, ["--add-scram", "SCRAM-MD5=[name=a,password=b]"], '"SCRAM-MD5" is no mechanism'),
        (False, ["--add-scram", "SCRAM-SHA-256=[password=b]"], "the name is missing"),
        (False, ["--add-scram", "SCRAM-SHA-256=[name=a]"], "the password is missing"),
        (False, ["--add-scram", "SCRAM-SHA-256=[name=a,password=b,iterations=1]"], "it is from 4096 to 16384"),
        (False, ["--release-version", "3.3", "--add-scram", "SCRAM-SHA-256=[name=a,password=b]"], "knows no SCRAM"),
        (True, [], "say who votes at first: --standalone"),
        (True, ["--feature", "kraft.version=0", "--standalone"], "--feature kraft.version=0: "),
        (True, ["--initial-controllers", "1@localhost:9093"], "does not end in the id of a directory"),
        (True, ["--initial-controllers", "localhost:9093:JEXY6aqzQY-32P5TStzaFg"], "has no id"),
        (True, ["--initial-controllers", ","], "there is none"),
        (True, ["-I", "1@a:1:JEXY6aqzQY-32P5TStzaFg,1@b:1:JEXY6aqzQY-32P5TStzaFg"], "the node 1 is there twice"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line_and_nothing_is_written(
    dynamic: bool, options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert format_node(write_config(tmp_path, tmp_path, dynamic=dynamic), *options) == 1
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1
    assert list(tree(tmp_path)) == ["server.properties"]


def test_a_cluster_id_that_is_none_or_another_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_config(tmp_path, tmp_path)
    assert format_node(config, cluster_id="mine") == 1
    assert '--cluster-id: "mine" is no uuid' in capsys.readouterr().err
    assert not (tmp_path / "one").exists()
    assert format_node(config) == 0
    assert format_node(config, "--ignore-formatted", cluster_id="JEXY6aqzQY-32P5TStzaFg") == 1
    assert f"{tmp_path}/one belongs to the cluster {CLUSTER_ID}, not to JEXY6aqz" in capsys.readouterr().err


def test_brokers_are_not_standalone_and_options_exclude_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path, tmp_path, dynamic=True, roles="broker")
    assert format_node(config, "--standalone") == 1
    assert "--standalone is for controllers" in capsys.readouterr().err
    assert format_node(config, "--standalone", "--no-initial-controllers") == 2
    assert format_node(config) == 0


def test_errors_of_the_file_are_all_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad").write_text("process.roles=boss\nnum.partitions=0\n")
    assert format_node(tmp_path / "bad") == 1
    said = capsys.readouterr().err
    assert said.count("/bad:") == 4 and "Traceback" not in said
    assert format_node(tmp_path / "missing") == 1
    assert "No such file" in capsys.readouterr().err


def test_info_shows_the_directories_and_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_config(tmp_path, tmp_path)
    assert run(["storage", "info", "-c", str(config)]) == 1
    assert f"{tmp_path}/one does not exist." in capsys.readouterr().err
    assert format_node(config) == 0
    capsys.readouterr()
    assert run(["storage", "info", "-c", str(config)]) == 0
    said = capsys.readouterr().out
    assert CLUSTER_ID in said and "metadata.version=30" in said
    (tmp_path / "two/meta.properties").unlink()
    assert run(["storage", "info", "-c", str(config), "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["problems"] == [f"{tmp_path}/two is not formatted."]
    assert [one["formatted"] for one in document["directories"]] == [True, False]
    assert document["directories"][0]["features"] == FEATURES
