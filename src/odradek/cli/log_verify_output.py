"""The outcome of `odradek log verify`: a table of partitions, then notes, then what is wrong."""

from dataclasses import asdict

from odradek.cli.log_verify import Findings
from odradek.cli.log_verify_partition import PartitionReport
from odradek.cli.options import Settings
from odradek.cli.output import print_json, print_table

_HEADERS = ("partition", "segments", "batches", "records", "bytes", "start", "end", "index entries")


def print_findings(settings: Settings, reports: list[PartitionReport], findings: Findings) -> None:
    if settings.as_json:
        print_json({"partitions": [_json(r) for r in reports], "notes": findings.notes, "problems": findings.problems})
        return
    print_table(_HEADERS, [_row(report) for report in reports])
    notes = findings.notes if settings.verbose else []
    for said in notes:
        print(f"note: {said}")
    if findings.notes and not notes:
        print(f"{len(findings.notes)} notes, shown with -v")
    for said in findings.problems:
        print(f"wrong: {said}")
    total = sum(report.size_bytes for report in reports)
    records = sum(report.records for report in reports)
    verdict = f"{len(findings.problems)} problems" if findings.problems else "all is well"
    print(f"{len(reports)} partitions, {records} records, {total} bytes: {verdict}")


def _row(report: PartitionReport) -> tuple[object, ...]:
    return (
        f"{report.partition}{report.mark}",
        report.segments,
        report.batches,
        report.records,
        report.size_bytes,
        report.start_offset,
        report.end_offset,
        report.index_entries,
    )


def _json(report: PartitionReport) -> dict[str, object]:
    fields = asdict(report)
    fields.pop("partition")
    return {"topic": report.partition.topic, "partition": report.partition.partition, **fields}
