"""The last run in the README: its picture and its figures. Pure.

`make demo DEMO=--publish` replaces what stands between two marks.
"""

from demo.report import Report

_BEGIN, _END = "<!-- the last run, by make demo DEMO=--publish -->", "<!-- end of the last run -->"


def published(readme: str, report: Report) -> str:
    before, _, rest = readme.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return "\n".join((f"{before}{_BEGIN}", _table(report), f"{_END}{after}"))


def _table(report: Report) -> str:
    heads = "| | produced | = in the table | + duplicates dropped | + dead letters |\n| --- | --: | --: | --: | --: |"
    rows = [
        f"| {each.kind.value} | {each.produced:,} | {each.in_table:,} | {each.duplicates:,} | {each.dead_letters:,} |"
        for each in report.balances
    ]
    verdict = f"{len(report.checks) - len(report.unmet)} of {len(report.checks)} figures met."
    figures = [f"- {name}: {value}" for name, value in (*report.figures.items(), *report.machine.items())]
    return "\n".join(("", heads, *rows, "", verdict, "", *figures, ""))
