"""Sizes of packages, which are limited, and of files and functions, as a report: the reader of the report decides."""

import ast
import statistics
from pathlib import Path

from support import figures

SOURCE = Path(__file__).parents[3] / "src" / "odradek"

#: STYLE's marks: where a file should make one look for its second subject, and what fits on a screen.
FILE_LINES = 400
FUNCTION_LINES = 40

#: Classes generated from the protocol's tables are data.
GENERATED = SOURCE / "protocol" / "messages"


#: More than this are several subjects, which want to be packages of their own.
PACKAGE_MODULES = 30

#: One file per API key; generated classes.
LARGER = {"api/handlers", "protocol/messages"}


def written_files() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if GENERATED not in path.parents)


def function_lengths(path: Path) -> list[tuple[int, str]]:
    tree = ast.parse(path.read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [((node.end_lineno or node.lineno) - node.lineno + 1, node.name) for node in functions]


def test_report_of_sizes() -> None:
    files = {path.relative_to(SOURCE).as_posix(): len(path.read_text().splitlines()) for path in written_files()}
    functions = [
        (lines, f"{path.relative_to(SOURCE).as_posix()}:{name}")
        for path in written_files()
        for lines, name in function_lengths(path)
    ]
    lengths = sorted(lines for lines, _ in functions)
    assert files and lengths, "nothing to measure: has the source moved?"
    figures.report(
        "architecture: files",
        files=len(files),
        lines=sum(files.values()),
        longest=max(files.values()),
        over_400=sum(lines > FILE_LINES for lines in files.values()),
    )
    figures.report(
        "architecture: functions",
        functions=len(lengths),
        median_lines=statistics.median(lengths),
        ninety_percent_within=lengths[len(lengths) * 9 // 10],
        over_40=sum(lines > FUNCTION_LINES for lines in lengths),
    )
    for name, lines in sorted(files.items(), key=lambda item: -item[1])[:10]:
        print(f"{lines:6} lines  {name}")
    for lines, name in sorted(functions, reverse=True)[:10]:
        print(f"{lines:6} lines  {name}")


def test_packages_have_one_subject() -> None:
    large = {
        path.parent.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("__init__.py")
        if len(list(path.parent.glob("*.py"))) - 1 > PACKAGE_MODULES
    }
    assert large <= LARGER, "divide them by subject"
