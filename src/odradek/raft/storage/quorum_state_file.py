"""`quorum-state`: what a replica must remember about elections, as Kafka writes it.

One line of JSON, the message QuorumStateData with its version as `data_version`: version 0 while voters are static (it
lists their ids), version 1 with dynamic voters (it has the directory id of whom we voted for). Replaced as a whole and
synced before anything that follows from it leaves the node: a replica that forgot a vote could vote twice.
"""

import json
from typing import NamedTuple

from odradek.common.failures import Fault
from odradek.common.ids import ZERO_UUID
from odradek.common.ports import FileSystem, write_atomically
from odradek.protocol.errors import InvalidMessage
from odradek.protocol.json_form import from_json, to_json
from odradek.protocol.messages.quorum_state_data import QuorumStateData
from odradek.protocol.messages.quorum_state_data import Voter as WireVoter
from odradek.raft.values import NO_ID, RECONFIGURABLE, ReplicaKey

QUORUM_STATE_FILE = "quorum-state"

_VERSION_FIELD = "data_version"


class ElectionState(NamedTuple):
    """Election state. `voters` is written by version 0 only, and never read."""

    epoch: int
    leader_id: int | None = None
    voted_key: ReplicaKey | None = None
    voters: tuple[int, ...] = ()


def data_version(kraft_version: int) -> int:
    return 1 if kraft_version >= RECONFIGURABLE else 0


def encode_election(election: ElectionState, version: int) -> bytes:
    voted = election.voted_key
    message = QuorumStateData(
        leader_id=NO_ID if election.leader_id is None else election.leader_id,
        leader_epoch=election.epoch,
        voted_id=NO_ID if voted is None else voted.id,
        voted_directory_id=ZERO_UUID if version == 0 or voted is None else voted.wire_directory_id,
        current_voters=[WireVoter(voter_id=voter_id) for voter_id in election.voters] if version == 0 else [],
    )
    form = {**to_json(message, version), _VERSION_FIELD: version}
    return json.dumps(form, separators=(",", ":")).encode()


def decode_election(data: bytes, path: str) -> ElectionState:
    """Decode the file. Raises Fault: a replica that cannot read its vote must not take part."""
    try:
        form = json.loads(data.split(b"\n", 1)[0])
        version = form.pop(_VERSION_FIELD)
        if version not in range(QuorumStateData.VERSIONS[0], QuorumStateData.VERSIONS[1] + 1):
            raise Fault(f"{path}: data_version is {version}, known are 0 and 1")
        message = from_json(QuorumStateData, version, form)
    except (ValueError, AttributeError, KeyError, TypeError, InvalidMessage) as error:
        raise Fault(f"{path}: no quorum state: {error!r}") from error
    voted = None
    if message.voted_id != NO_ID:
        voted = ReplicaKey.from_wire(message.voted_id, message.voted_directory_id)
    return ElectionState(
        message.leader_epoch,
        None if message.leader_id == NO_ID else message.leader_id,
        voted,
        tuple(voter.voter_id for voter in message.current_voters or ()),
    )


class QuorumStateStore:
    """The file, in the directory of the metadata log."""

    def __init__(self, files: FileSystem, directory: str) -> None:
        self._files = files
        self.path = f"{directory}/{QUORUM_STATE_FILE}"

    def read(self) -> ElectionState | None:
        """Read the file; None for a replica that has never taken part. OSError becomes a Fault: it must not start
        without its vote."""
        try:
            if not self._files.exists(self.path):
                return None
            data = self._files.read_file(self.path)
        except OSError as error:
            raise Fault(f"{self.path}: cannot be read: {error}") from error
        return decode_election(data, self.path)

    def write(self, election: ElectionState, version: int) -> None:
        """Write the file. It is durable when this returns. A failure is a Fault: the content of the disk is unknown
        then."""
        try:
            write_atomically(self._files, self.path, encode_election(election, version))
        except OSError as error:
            raise Fault(f"{self.path}: cannot be written: {error}") from error
