"""Progress of flows by Spark's own checkpoints, whoever ran the pipeline.

A flow's checkpoint lies in `_checkpoints/<where it writes>/<flow>/<number>` of the storage: `offsets/<batch>` has a
line for each source with where the batch ends, `commits/<batch>` is there once the batch is done.
"""

from dataclasses import dataclass
from pathlib import Path

from odradek.common.ids import TopicPartition
from odradek.spark.pipeline.streams import topic_offsets

ROOT = "_checkpoints"

#: In an offset file, before the sources: the version, and settings of the query.
_LINES_BEFORE = 2


@dataclass(frozen=True, slots=True)
class Checkpoint:
    flow: str
    #: The last that is done.
    batch_id: int
    committed_ms: int
    #: Where its sources are that read topics.
    offsets: dict[TopicPartition, int]


def read_checkpoints(storage: Path) -> list[Checkpoint]:
    checkpoints = {}
    for offsets in sorted((storage / ROOT).glob("**/offsets")):
        directory = offsets.parent
        if directory.name.isdecimal() and (directory / "commits").is_dir():
            checkpoint = _read(directory)
            if checkpoint is not None:  # of several the last counts: a full refresh begins another
                checkpoints[checkpoint.flow] = checkpoint
    return list(checkpoints.values())


def _read(directory: Path) -> Checkpoint | None:
    commits = {int(path.name): path for path in (directory / "commits").iterdir() if path.name.isdecimal()}
    if not commits:
        return None
    batch_id = max(commits)
    try:
        committed_ms = commits[batch_id].stat().st_mtime_ns // 1_000_000
        lines = (directory / "offsets" / str(batch_id)).read_text().splitlines()
    except FileNotFoundError:  # Spark tidies up while we look
        return None
    offsets = {part: at for line in lines[_LINES_BEFORE:] for part, at in (topic_offsets(line) or {}).items()}
    return Checkpoint(directory.parent.name, batch_id, committed_ms, offsets)
