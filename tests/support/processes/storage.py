"""Configuration files of one node for tests of storage, and what a formatted directory holds."""

from pathlib import Path
from typing import Any, NamedTuple

from odradek.metadata.records.record_serde import decode_record
from odradek.protocol.json_form import to_json
from odradek.raft.storage.control_records import read_control_records
from odradek.records.batch import read_batches

CLUSTER_ID = "bSXPc0xJod0nPk2Pq19b2w"

_STATIC = "controller.quorum.voters=1@localhost:9093"
_DYNAMIC = "controller.quorum.bootstrap.servers=localhost:9093"


def write_config(directory: Path, data: Path, *, dynamic: bool = False, roles: str = "broker,controller") -> Path:
    """A node with two directories, `one` (that of the metadata log) and `two`."""
    directory.mkdir(parents=True, exist_ok=True)
    listeners = {"broker": "PLAINTEXT://localhost:9092", "controller": "CONTROLLER://localhost:9093"}
    path = directory / "server.properties"
    path.write_text(
        f"process.roles={roles}\n"
        "node.id=1\n"
        f"listeners={','.join(listeners[role] for role in roles.split(','))}\n"
        "controller.listener.names=CONTROLLER\n"
        f"{_DYNAMIC if dynamic else _STATIC}\n"
        f"log.dirs={data}/one,{data}/two\n"
    )
    return path


class Checkpoint(NamedTuple):
    """The batches of a snapshot file: whether control, and each record's kind, version and content."""

    batches: list[tuple[bool, list[tuple[str, int, Any]]]]


def read_checkpoint(path: Path) -> Checkpoint:
    batches = []
    for batch in read_batches(path.read_bytes()):
        batch.check()
        assert batch.leader_epoch == 0
        if batch.is_control:
            kinds = [(one.message, 0) for one in read_control_records(batch)]
        else:
            kinds = [tuple(decode_record(record.value or b"")) for record in batch.records()]
        batches.append((batch.is_control, [(type(m).__name__, v, to_json(m, v)) for m, v in kinds]))
    return Checkpoint(batches)


def tree(data: Path) -> dict[str, bytes]:
    return {path.relative_to(data).as_posix(): path.read_bytes() for path in sorted(data.rglob("*")) if path.is_file()}
