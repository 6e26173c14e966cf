"""Decision when to write a snapshot: after a number of bytes of log, or a time, since the last one.

A publisher. It only decides that a snapshot is due, and of which image. Its driver writes the file and reports back:
that takes long for a large cluster and runs in parallel to the loader, which is safe because an image is immutable.
After a failure no more snapshots are due until the node restarts: a disk that failed once is not trusted.
"""

from dataclasses import dataclass

from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.publishing.publisher import LeaderAndEpoch, LoaderManifest, ManifestKind


@dataclass(frozen=True, slots=True)
class SnapshotLimits:
    #: `metadata.log.max.record.bytes.between.snapshots`
    max_bytes: int = 20 * 1024 * 1024
    #: `metadata.log.max.snapshot.interval.ms`; 0 disables snapshots by time.
    max_interval_ms: int = 3_600_000


@dataclass(frozen=True, slots=True)
class SnapshotDue:
    image: MetadataImage
    reason: str


class SnapshotGenerator:
    name = "SnapshotGenerator"

    def __init__(self, limits: SnapshotLimits, now_ms: int) -> None:
        self._limits = limits
        self._bytes_since = 0
        self._last_snapshot_ms = now_ms
        self._image: MetadataImage | None = None
        self._is_writing = False
        self.disabled_reason: str | None = None

    @property
    def deadline_ms(self) -> int | None:
        """Time of the next call of `due` if nothing is published before."""
        if self._limits.max_interval_ms == 0 or self._is_writing or self._bytes_since == 0:
            return None
        return self._last_snapshot_ms + self._limits.max_interval_ms

    def on_metadata_update(self, delta: MetadataDelta, image: MetadataImage, manifest: LoaderManifest) -> None:
        self._image = image
        if manifest.kind is ManifestKind.SNAPSHOT:
            self._bytes_since = 0
        else:
            self._bytes_since += manifest.size_bytes

    def on_controller_change(self, leader_and_epoch: LeaderAndEpoch) -> None:
        """Ignore the change: every node writes its own snapshots."""

    def due(self, now_ms: int) -> SnapshotDue | None:
        """Return the image to write now. Until `written` or `failed` is called nothing else is due."""
        image = self._image
        if self._is_writing or self.disabled_reason or image is None or not image.provenance.is_batch_aligned:
            return None
        reason = self._reason(now_ms)
        if reason is None:
            return None
        self._is_writing, self._bytes_since, self._last_snapshot_ms = True, 0, now_ms
        return SnapshotDue(image, reason)

    def written(self) -> None:
        self._is_writing = False

    def failed(self, reason: str) -> None:
        self._is_writing = False
        self.disabled_reason = reason

    def _reason(self, now_ms: int) -> str | None:
        if self._bytes_since >= self._limits.max_bytes:
            return f"{self._bytes_since} bytes since the last snapshot"
        elapsed_ms = now_ms - self._last_snapshot_ms
        if 0 < self._limits.max_interval_ms <= elapsed_ms and self._bytes_since:
            return f"{elapsed_ms} ms since the last snapshot"
        return None
