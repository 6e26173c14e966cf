"""The HTML around a report: style, headings, tables. Nothing in it refers to another file or address. Pure."""

from collections.abc import Mapping, Sequence
from html import escape

STYLE = """
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


def page(title: str, parts: Sequence[str], style: str = "") -> str:
    """`parts` are HTML; `style` is added to that of all reports."""
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}{style}</style>'
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}{view}</head>\n<body>\n{body}\n</body></html>\n'


def definition_list(pairs: Mapping[str, str]) -> str:
    lines = "".join(f'<dt class="soft">{escape(name)}</dt><dd>{escape(value)}</dd>' for name, value in pairs.items())
    return f"<dl>{lines}</dl>"
