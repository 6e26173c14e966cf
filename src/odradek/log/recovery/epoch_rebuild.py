"""The leader epochs of a log that is being loaded: from their checkpoint, or else from the batches themselves."""

from __future__ import annotations

from odradek.log.errors import CorruptCheckpoint
from odradek.log.file_names import LEADER_EPOCH_CHECKPOINT, LOG_SUFFIX
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.manager.checkpoint_files import EpochEntry
from odradek.log.recovery.leftover_files import segment_files
from odradek.log.recovery.segment_opening import Loading
from odradek.log.segments.batch_scan import scan_batches
from odradek.records.errors import CorruptRecord


def load_epochs(loading: Loading) -> LeaderEpochs:
    """A checkpoint that is missing from a log with data, or unreadable, is made again. That reads the headers of all
    batches: rare, and better than a replica that cannot tell where it differs from its leader."""
    path = f"{loading.directory}/{LEADER_EPOCH_CHECKPOINT}"
    reason = "it is missing"
    if loading.files.exists(path):
        try:
            epochs = LeaderEpochs.load(loading.files, loading.directory)
            if epochs.latest_epoch is not None:
                return epochs
            reason = "it is empty"
        except CorruptCheckpoint as damage:
            reason = damage.reason
    epochs = LeaderEpochs(loading.files, loading.directory)
    scanned = _scan(loading)
    if scanned:
        loading.repairs.append(f"rebuilt {path}: {reason}")
        epochs.assign_all(scanned)
    elif loading.files.exists(path):
        epochs.clear_and_flush()
    return epochs


def _scan(loading: Loading) -> list[EpochEntry]:
    """Return the start of each epoch, as far as the batches are readable; recovery handles the rest."""
    scanned: list[EpochEntry] = []
    latest = -1
    for path, name in segment_files(loading.files, loading.directory):
        if name.kind != LOG_SUFFIX or name.suffix:
            continue
        file = loading.files.open(path, writable=False)
        try:
            for batch in scan_batches(file, 0, file.size()):
                if batch.leader_epoch > latest:
                    latest = batch.leader_epoch
                    scanned.append(EpochEntry(latest, batch.base_offset))
        except CorruptRecord:
            return scanned
        finally:
            file.close()
    return scanned
