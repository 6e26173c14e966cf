"""Tables and views that a query may read, by the names in its plan. Pure.

The plan is the one that the client builds, before Spark has analysed it: having Spark explain each query would take
longer than starting it. It has the names of tables that Python reads, and the texts of SQL. A word of SQL may be
something else than the table of that name; a table that is not named is not read, unless a view that is named reads it.
"""

import re
from collections.abc import Mapping, Sequence

from odradek.spark.pipeline.live.graph import Flow

_WORD = re.compile(r"\w+")


class References:
    def __init__(self, views: Mapping[str, Sequence[str]]) -> None:
        """`views` has, by the name of each view, the names and texts in its plan."""
        self._views = {name: _words(texts) for name, texts in views.items()}

    def may_read(self, texts: Sequence[str], tables: Sequence[str]) -> list[str]:
        """Return those of the tables (qualified names) that a query with these names and texts may read."""
        names = self._with_views(_words(texts))
        return [table for table in tables if _last_part(table) in names]

    def _with_views(self, names: set[str]) -> set[str]:
        """Add the words of all views that are named, and of those that they name."""
        pending = dict(self._views)
        while named := [view for view in pending if _last_part(view) in names]:
            for view in named:
                names = names | pending.pop(view)
        return names


def sources_first(flows: Sequence[Flow], reads: Mapping[str, Sequence[str]]) -> list[Flow]:
    """Order flows so that each comes after those that write what it reads; `reads` has the tables that each may read.

    Flows that read each other's tables in a circle come last, as they were given.
    """
    ordered: list[Flow] = []
    pending = list(flows)
    while pending:
        unwritten = {flow.target for flow in pending}
        ready = [flow for flow in pending if not (unwritten - {flow.target}) & set(reads[flow.name])]
        if not ready:
            return ordered + pending
        ordered += ready
        pending = [flow for flow in pending if flow not in ready]
    return ordered


def _words(texts: Sequence[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text)}


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]
