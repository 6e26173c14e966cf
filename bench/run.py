"""Run the benchmarks: each row is printed as soon as it is there, and kept (see `results`).

A suite is a function that yields rows; those of `brokers` take an effort. `python bench/run.py codec brokers` runs only
some: a suite, or all of a group (`brokers.starts`, `brokers`). `--quick` measures brokers for a few minutes altogether,
`--resume` goes on where a run was stopped, `--document` writes table and chart into `docs/` from what is complete.
A whole run does so in any case.
"""

import argparse
import importlib
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import document
from beside import FULL, QUICK, Effort
from results import MEASURED, Results, Row
from suites import SUITES
from tables import text_line


def run(name: str, effort: Effort, results: Results) -> None:
    results.begin(name, effort.name)
    for row in _rows(name, effort):
        print(text_line(row), flush=True)
        results.add(name, dict(row))
    results.complete(name)


def _rows(name: str, effort: Effort) -> Iterator[Row]:
    benchmark = SUITES[name]
    module, _, function = benchmark.function.rpartition(".")
    suite: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return iter(suite(effort) if benchmark.takes_effort else suite())


def chosen(wanted: Sequence[str]) -> list[str]:
    for name in wanted:
        if not any(_belongs(suite, name) for suite in SUITES):
            raise SystemExit(f"no benchmark is called {name}: there are {', '.join(SUITES)}")
    return [suite for suite in SUITES if not wanted or any(_belongs(suite, name) for name in wanted)]


def _belongs(suite: str, name: str) -> bool:
    return suite == name or suite.startswith(f"{name}.")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Cost of each operation beside its floor, of nodes beside Kafka's.")
    parser.add_argument("suites", nargs="*", help=f"all unless named: {', '.join(SUITES)}")
    parser.add_argument("--quick", action="store_true", help="brokers in minutes; ratios are rough")
    parser.add_argument("--resume", action="store_true", help="leave out suites that are complete")
    parser.add_argument("--document", action="store_true", help="write docs/benchmarks.md and its chart at the end")
    given = parser.parse_args(arguments)
    effort, results, failed = QUICK if given.quick else FULL, Results(MEASURED), list[str]()
    for name in chosen(given.suites):
        if given.resume and results.is_complete(name, effort.name):
            continue
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            run(name, effort, results)
        except Exception:  # noqa: BLE001 - whatever befell this one, the others are worth having
            traceback.print_exc()
            failed.append(name)
    if given.document or not (given.suites or given.quick):
        document.write()
    if failed:
        print(f"not complete: {', '.join(failed)}; --resume measures them", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
