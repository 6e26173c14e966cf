"""What was measured, kept in a file after every row, so that a run that is stopped loses nothing.

`bench/out/results.json` is what runs on this machine found; `bench/results.json` is what the documents show. A suite is
complete when its `run` came to its end: only then it is published, and only then `--resume` passes it over.
"""

import json
import os
import platform
import time
from pathlib import Path
from typing import Any, TypedDict

HERE = Path(__file__).parent
MEASURED = HERE / "out" / "results.json"
PUBLISHED = HERE / "results.json"

#: Either a `rows.Row` or one beside its floor: `operation`, `median_us`, `floor_us`, `note`.
Row = dict[str, Any]


class Suite(TypedDict):
    machine: str
    date: str
    effort: str
    is_complete: bool
    rows: list[Row]


class Results:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.suites: dict[str, Suite] = json.loads(path.read_text()) if path.exists() else {}

    def begin(self, name: str, effort: str) -> None:
        """Anew: its rows of an earlier run go when it has the first of this one."""
        self.suites[name] = Suite(
            machine=machine(), date=time.strftime("%Y-%m-%d"), effort=effort, is_complete=False, rows=[]
        )

    def add(self, name: str, row: Row) -> None:
        self.suites[name]["rows"].append(row)
        self.save()

    def complete(self, name: str) -> None:
        self.suites[name]["is_complete"] = True
        self.save()

    def is_complete(self, name: str, effort: str) -> bool:
        found = self.suites.get(name)
        return found is not None and found["is_complete"] and found["effort"] == effort

    def save(self) -> None:
        self._path.parent.mkdir(exist_ok=True)
        written = self._path.with_suffix(".new")
        written.write_text(json.dumps(self.suites, indent=1, ensure_ascii=False) + "\n")
        written.replace(self._path)


def publish() -> Results:
    """The complete suites of this machine take the place of those that were shown."""
    measured, published = Results(MEASURED), Results(PUBLISHED)
    published.suites |= {name: suite for name, suite in measured.suites.items() if suite["is_complete"]}
    published.save()
    return published


def machine() -> str:
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"
