"""The report of a run: one HTML file with its plots in it, that needs nothing else. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from demo.accounting import Balance, Check
from odradek.spark.pipeline.report.charts import Picture, draw
from odradek.spark.pipeline.report.page import definition_list, page


@dataclass(frozen=True, slots=True)
class Report:
    title: str
    #: Who did what when, in a sentence or two.
    summary: str
    balances: Sequence[Balance]
    checks: Sequence[Check]
    picture: Picture
    #: By name, ready to be shown.
    figures: Mapping[str, str]
    machine: Mapping[str, str]

    @property
    def unmet(self) -> list[Check]:
        return [check for check in self.checks if not check.is_met]


def render(report: Report) -> str:
    parts = (
        f"<h1>{escape(report.title)}</h1>",
        f"<p>{escape(report.summary)}</p>",
        _verdict(report),
        "<h2>Every event is accounted for</h2>",
        _balances(report.balances),
        "<h2>The run</h2>",
        draw(report.picture),
        definition_list(report.figures),
        "<h2>Everything that was checked</h2>",
        _checks(report.checks),
        "<h2>Where it ran</h2>",
        definition_list(report.machine),
    )
    return page(report.title, parts)


def _verdict(report: Report) -> str:
    if not report.unmet:
        return f'<p class="verdict met">All {len(report.checks)} figures are met: none lost, none doubled.</p>'
    lines = "; ".join(f"{each.what}: {each.found:,} instead of {each.expected:,}" for each in report.unmet)
    return (
        f'<p class="verdict unmet">{len(report.unmet)} of {len(report.checks)} figures are not met: {escape(lines)}</p>'
    )


def _balances(balances: Sequence[Balance]) -> str:
    heads = ("", "produced", "= in the table", "+ duplicates dropped", "+ dead letters", "of the table: late")
    rows = [
        (each.kind.value, each.produced, each.in_table, each.duplicates, each.dead_letters, each.late)
        for each in balances
    ]
    total = ("all", *(sum(column) for column in list(zip(*rows, strict=True))[1:]))
    lines = [_row(row) for row in rows] + [_row(total, "total")]
    return f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>{''.join(lines)}</table>"


def _row(cells: Sequence[str | int], name: str = "") -> str:
    shown = "".join(f"<td>{escape(cell) if isinstance(cell, str) else f'{cell:,}'}</td>" for cell in cells)
    return f'<tr class="{name}">{shown}</tr>'


def _checks(checks: Sequence[Check]) -> str:
    rows = "".join(
        f"<tr><td>{escape(each.what)}</td><td>{each.expected:,}</td><td>{each.found:,}</td>"
        f'<td class="{"met" if each.is_met else "unmet"}">{"met" if each.is_met else "not met"}</td></tr>'
        for each in checks
    )
    return f"<table><tr><th></th><th>expected</th><th>found</th><th></th></tr>{rows}</table>"
