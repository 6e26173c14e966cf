"""Output of `odradek log verify`: a table of partitions, notes, and problems."""

from dataclasses import asdict

from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings
from odradek.cli.base.output import UNKNOWN, plural, print_json, print_table
from odradek.cli.commands.log.verify import Findings
from odradek.inspection.verify_partition import PartitionReport

_HEADERS = ("partition", "segments", "batches", "records", "bytes", "start", "end", "index entries")


def print_findings(settings: Settings, reports: list[PartitionReport], findings: Findings) -> None:
    if settings.as_json:
        partitions = [_report_document(report) for report in reports]
        print_json({"partitions": partitions, "notes": findings.notes, "problems": findings.problems})
        return
    print_table(_HEADERS, [_row(report) for report in reports])
    notes = findings.notes if settings.verbose else []
    for note in notes:
        echo(f"note: {note}")
    if findings.notes and not notes:
        echo(f"{plural(len(findings.notes), 'note')}, shown with -v")
    for problem in findings.problems:
        echo(f"problem: {problem}")
    total = sum(report.size_bytes for report in reports)
    records = sum(report.records for report in reports)
    verdict = plural(findings.count, "problem") if findings.count else "no problems"
    totals = ", ".join((plural(len(reports), "partition"), plural(records, "record"), plural(total, "byte")))
    echo(f"{totals}: {verdict}")


def _row(report: PartitionReport) -> tuple[object, ...]:
    return (
        f"{report.partition}{report.mark}",
        report.segments,
        report.batches,
        report.records,
        report.size_bytes,
        report.start_offset,
        UNKNOWN if report.end_offset is None else report.end_offset,
        report.index_entries,
    )


def _report_document(report: PartitionReport) -> dict[str, object]:
    fields = asdict(report)
    fields.pop("partition")
    return {"topic": report.partition.topic, "partition": report.partition.partition, **fields}
