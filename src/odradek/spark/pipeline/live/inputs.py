"""Inputs of a query, found in the plan that Spark has analysed. Pure."""

import re
from collections.abc import Collection
from dataclasses import dataclass

_ANALYZED = "== Analyzed Logical Plan =="
_ALIAS = re.compile(r"SubqueryAlias ([^\s,]+)")
#: A leaf that reads files by their path, with the columns where a table has its name.
_FILES = re.compile(r"\bRelation \[")
#: A source whose changes cannot be seen without reading it.
_OPAQUE = re.compile(r"\b(RelationV2|LogicalRDD|ExternalRDD)\b")


@dataclass(frozen=True, slots=True)
class Inputs:
    #: Tables of the pipeline, qualified.
    tables: frozenset[str]
    reads_files: bool
    #: It reads something of which nobody can tell whether it has changed.
    is_opaque: bool


def inputs_of(explained: str, tables: Collection[str]) -> Inputs:
    """Read what `DataFrame.explain(True)` prints; `tables` are those of the pipeline."""
    plan = explained.partition(_ANALYZED)[2].partition("\n== ")[0]
    names = {name.replace("`", "") for name in _ALIAS.findall(plan)}
    return Inputs(frozenset(names & set(tables)), bool(_FILES.search(plan)), bool(_OPAQUE.search(plan)))
