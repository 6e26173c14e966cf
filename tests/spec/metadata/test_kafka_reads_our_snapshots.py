"""Apache Kafka's DumpLogSegments on snapshots that we wrote: every record is known to it and says what we meant."""

import json
from pathlib import Path
from random import Random

import pytest

from helpers.metadata import replayed, snapshot_bytes
from helpers.metadata_records import RecordMaker, first_records
from helpers.peers import dump_log_segments
from odradek.protocol import json_form


@pytest.mark.peer
def test_dump_log_segments_decodes_every_record(tmp_path: Path) -> None:
    maker, image = RecordMaker(Random(7)), replayed(first_records())
    for _ in range(1500):
        image = replayed([maker.next_record(image)], image)
    records = list(image.records())
    path = tmp_path / "00000000000000001502-0000000003.checkpoint"
    path.write_bytes(snapshot_bytes(records, timestamp=1_794_778_232_670, epoch=3))
    lines = dump_log_segments("--cluster-metadata-decoder", "--files", str(path)).splitlines()
    payloads = [json.loads(line.split("payload: ", 1)[1]) for line in lines if "payload: " in line]
    assert len(payloads) == len(records) > 30
    for (message, version), said in zip(records, payloads, strict=True):
        assert said["version"] == version
        assert said["data"] == json_form.to_json(message, version)
    assert len({said["type"] for said in payloads}) >= 11
    assert any("SnapshotHeader" in line for line in lines) and any("SnapshotFooter" in line for line in lines)
