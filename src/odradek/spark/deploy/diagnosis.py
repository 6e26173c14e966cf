"""From what the processes of a cluster have to what is wrong with it. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from odradek.spark.deploy.remedies import PACKAGE

#: The oldest that PySpark accepts.
_PYARROW_MIN = (18,)

PROBLEM = "problem"
WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Process:
    """What `odradek.spark.deploy.probe` found in one Python process. `name` says which one it is."""

    name: str
    host: str
    directory: str
    python: str
    version: str
    packages: Mapping[str, str | None]
    #: None where it cannot be imported; `error` says why.
    odradek: str | None
    odradek_path: str | None
    plain_modules: Sequence[str]
    error: str | None
    #: By address: why it cannot be reached, or None.
    brokers: Mapping[str, str | None]

    @classmethod
    def from_probe(cls, name: str, found: Mapping[str, Any]) -> "Process":
        return cls(name=name, **{each.name: found[each.name] for each in fields(cls) if each.name != "name"})


@dataclass(frozen=True, slots=True)
class Finding:
    severity: str
    where: str
    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.where}: {self.what}; {self.fix}"


@dataclass(frozen=True, slots=True)
class Examination:
    """What the doctor's job has seen."""

    spark: str | None = None
    driver: Process | None = None
    executors: Sequence[Process] = ()
    #: Why Spark does not find the data source, with the remedy; None if it does.
    source_problem: str | None = None
    #: Why the job that runs on the executors failed, with the remedy.
    job_problem: str | None = None
    #: Why the brokers could not be asked for the others.
    broker_problem: str | None = None


def findings(seen: Examination) -> list[Finding]:
    """Return what is wrong, the driver's first. What is wrong with many executors is said once."""
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for executor in seen.executors:
        for found in _of_an_executor(executor, seen.driver):
            grouped.setdefault((found.severity, found.what, found.fix), []).append(found.where)
    of_executors = [Finding(severity, ", ".join(where), what, fix) for (severity, what, fix), where in grouped.items()]
    return [*_of_the_driver(seen), *of_executors]


def _of_the_driver(seen: Examination) -> Iterator[Finding]:
    if seen.broker_problem is not None:
        yield Finding(PROBLEM, "brokers", seen.broker_problem, "start the brokers, or correct --bootstrap")
    if seen.source_problem is not None:
        what, _, fix = seen.source_problem.partition("; ")
        yield Finding(PROBLEM, "driver", what, fix or "see docs/deploy-spark.md")
    if seen.job_problem is not None:
        what, _, fix = seen.job_problem.partition(": ")
        yield Finding(PROBLEM, "executors", what, fix or "see docs/deploy-spark.md")
    if seen.driver is not None:
        yield from _unreachable(seen.driver)
        yield from _slow(seen.driver)


def _of_an_executor(executor: Process, driver: Process | None) -> Iterator[Finding]:
    where = executor.name
    if executor.odradek is None:
        what, _, fix = (executor.error or f"odradek is not installed; {PACKAGE}").partition("; ")
        yield Finding(PROBLEM, where, what, fix)
    elif driver is not None and driver.odradek not in (None, executor.odradek):
        what = f"odradek {executor.odradek} is there, and the driver has {driver.odradek}"
        yield Finding(PROBLEM, where, what, "install the same version, or write the package again on the driver")
    yield from _packages(executor, driver)
    yield from _unreachable(executor)
    yield from _slow(executor)


def _packages(executor: Process, driver: Process | None) -> Iterator[Finding]:
    for name in ("pyarrow", "numpy"):
        version = executor.packages.get(name)
        fix = f"pip install '{name}' with {executor.python}, or use the archive that `odradek spark package` writes"
        if version is None:
            yield Finding(PROBLEM, executor.name, f"{name} is not installed", fix)
        elif name == "pyarrow" and _numbers(version) < _PYARROW_MIN:
            yield Finding(PROBLEM, executor.name, f"pyarrow {version} is too old, PySpark needs 18 or later", fix)
    ours = None if driver is None else driver.packages.get("pyspark")
    theirs = executor.packages.get("pyspark")
    if ours is not None and theirs != ours:
        what = f"pyspark {theirs} is there, and the driver has {ours}"
        yield Finding(
            PROBLEM, executor.name, what, f"use the PySpark of the cluster's Spark: pip install pyspark=={theirs}"
        )


def _unreachable(process: Process) -> Iterator[Finding]:
    for address, reason in process.brokers.items():
        if reason is not None:
            what = f"the broker {address} is not reachable from {process.host} ({reason})"
            fix = "open the network between them, or let the broker advertise a listener that this machine can reach"
            yield Finding(PROBLEM, process.name, what, fix)


def _slow(process: Process) -> Iterator[Finding]:
    if process.odradek is not None and process.plain_modules:
        what = (
            f"{len(process.plain_modules)} compiled modules of odradek are missing, so that it is several times slower"
        )
        fix = "install a C compiler and Python's headers where odradek is installed, and install it again"
        yield Finding(WARNING, process.name, what, fix)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
