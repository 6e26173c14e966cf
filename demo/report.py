"""The report of a run: one HTML file with its plots in it, that needs nothing else. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from demo.accounting import Balance, Check
from demo.charts import Picture, draw

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 960px; margin: 2rem auto; padding: 0 1rem;
  color: #222222; background: #ffffff; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.2rem; } p.verdict { font-size: 1.15rem; font-weight: 600; }
.met { color: #2a7f62; } .unmet { color: #b3391a; }
table { border-collapse: collapse; width: 100%; } td, th { padding: 0.3rem 0.6rem; border-bottom: 1px solid #dddddd; }
th { text-align: right; } th:first-child, td:first-child { text-align: left; }
td { text-align: right; font-variant-numeric: tabular-nums; }
tr.total td { font-weight: 600; } svg { width: 100%; height: auto; } .soft { color: #666666; }
dl { display: grid; grid-template-columns: max-content auto; gap: 0.2rem 1.5rem; } dd { margin: 0; }
@media (prefers-color-scheme: dark) {
  body { color: #e4e6e8; background: #14171a; } td, th { border-color: #33393f; } .soft { color: #9aa1a8; }
  .met { color: #58c09a; } .unmet { color: #f09a83; }
}
"""


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
        _list(report.figures),
        "<h2>Everything that was checked</h2>",
        _checks(report.checks),
        "<h2>Where it ran</h2>",
        _list(report.machine),
    )
    head = f'<meta charset="utf-8"><title>{escape(report.title)}</title><style>{_STYLE}</style>'
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


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


def _list(pairs: Mapping[str, str]) -> str:
    lines = "".join(f'<dt class="soft">{escape(name)}</dt><dd>{escape(value)}</dd>' for name, value in pairs.items())
    return f"<dl>{lines}</dl>"
