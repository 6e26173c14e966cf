"""Check a snapshot of the metadata log: whole batches, readable records, a header in front and a footer behind."""

from odradek.inspection.damaged_walk import Damage, walk_batches
from odradek.inspection.directory_listing import LogFile
from odradek.inspection.progress import Progress
from odradek.inspection.record_decoding import Undecodable, decode_control, decode_metadata
from odradek.inspection.safe_reading import mapped
from odradek.inspection.verify_segment import Complain


def check_metadata_snapshot(file: LogFile, complain: Complain, progress: Progress) -> None:
    """Without its footer it was never finished. Raises ApiError for records that cannot be read."""
    first = last = None
    with mapped(file.path) as view:
        for walked in walk_batches(view, lambda position: progress.at(file.path, position, len(view))):
            if isinstance(walked, Damage):
                complain(file.path, walked.position, walked.reason)
                continue
            decode = decode_control if walked.batch.is_control else decode_metadata
            for record in walked.batch.records():
                try:
                    last = decode(record)["type"]
                    first = first or last
                except Undecodable as error:
                    complain(file.path, walked.position, f"record {record.offset}: {error}")
    if (first, last) != ("SNAPSHOT_HEADER", "SNAPSHOT_FOOTER"):
        complain(file.path, None, "a snapshot without its header or its footer")
