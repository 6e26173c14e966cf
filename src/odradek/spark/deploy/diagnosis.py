"""Diagnosis of a cluster from the probes of its processes. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from odradek.spark.deploy.remedies import PACKAGE

#: The oldest PyArrow that PySpark accepts.
_PYARROW_MIN = (18,)

PROBLEM = "problem"
WARNING = "warning"


@dataclass(frozen=True, slots=True)
class ProbedProcess:
    """Result of `odradek.spark.deploy.probe` in one Python process, which is identified by `name`."""

    name: str
    host: str
    directory: str
    python: str
    version: str
    packages: Mapping[str, str | None]
    #: Version; None if it cannot be imported, for the reason in `error`.
    odradek: str | None
    odradek_path: str | None
    plain_modules: Sequence[str]
    error: str | None
    #: Address -> why the broker is not reachable, or None.
    brokers: Mapping[str, str | None]

    @classmethod
    def from_probe(cls, name: str, result: Mapping[str, Any]) -> "ProbedProcess":
        return cls(name=name, **{field.name: result[field.name] for field in fields(cls) if field.name != "name"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem of the cluster, with its fix."""

    severity: str
    location: str
    problem: str
    fix: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.location}: {self.problem}; {self.fix}"

    def to_json(self) -> dict[str, str]:
        """Return the fields by their names in `--format json`."""
        return {"severity": self.severity, "where": self.location, "what": self.problem, "fix": self.fix}


@dataclass(frozen=True, slots=True)
class Examination:
    """Results of the doctor's job."""

    spark: str | None = None
    driver: ProbedProcess | None = None
    executors: Sequence[ProbedProcess] = ()
    #: Why Spark does not find the data source, with the remedy; None if it does.
    source_problem: str | None = None
    #: Why the job that runs on the executors failed, with the remedy.
    job_problem: str | None = None
    #: Why the brokers did not return the addresses of the other brokers.
    broker_problem: str | None = None


def findings(examination: Examination) -> list[Finding]:
    """Return the problems, those of the driver first. A problem of several executors is reported once."""
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for executor in examination.executors:
        for finding in _executor_findings(executor, examination.driver):
            grouped.setdefault((finding.severity, finding.problem, finding.fix), []).append(finding.location)
    of_executors = [
        Finding(severity, ", ".join(locations), problem, fix) for (severity, problem, fix), locations in grouped.items()
    ]
    return [*_driver_findings(examination), *of_executors]


def _driver_findings(examination: Examination) -> Iterator[Finding]:
    if examination.broker_problem is not None:
        yield Finding(PROBLEM, "brokers", examination.broker_problem, "start the brokers, or correct --bootstrap")
    if examination.source_problem is not None:
        problem, _, fix = examination.source_problem.partition("; ")
        yield Finding(PROBLEM, "driver", problem, fix or "see docs/deploy-spark.md")
    if examination.job_problem is not None:
        problem, _, fix = examination.job_problem.partition(": ")
        yield Finding(PROBLEM, "executors", problem, fix or "see docs/deploy-spark.md")
    if examination.driver is not None:
        yield from _unreachable(examination.driver)
        yield from _slow(examination.driver)


def _executor_findings(executor: ProbedProcess, driver: ProbedProcess | None) -> Iterator[Finding]:
    location = executor.name
    if executor.odradek is None:
        problem, _, fix = (executor.error or f"odradek is not installed; {PACKAGE}").partition("; ")
        yield Finding(PROBLEM, location, problem, fix)
    elif driver is not None and driver.odradek not in (None, executor.odradek):
        problem = f"odradek {executor.odradek} is installed, but the driver has {driver.odradek}"
        yield Finding(PROBLEM, location, problem, "install the same version, or write the package again on the driver")
    yield from _packages(executor, driver)
    yield from _unreachable(executor)
    yield from _slow(executor)


def _packages(executor: ProbedProcess, driver: ProbedProcess | None) -> Iterator[Finding]:
    for name in ("pyarrow", "numpy"):
        version = executor.packages.get(name)
        fix = f"pip install '{name}' with {executor.python}, or use the archive that `odradek spark package` writes"
        if version is None:
            yield Finding(PROBLEM, executor.name, f"{name} is not installed", fix)
        elif name == "pyarrow" and _version_numbers(version) < _PYARROW_MIN:
            yield Finding(PROBLEM, executor.name, f"pyarrow {version} is too old, PySpark requires 18 or later", fix)
    driver_version = None if driver is None else driver.packages.get("pyspark")
    executor_version = executor.packages.get("pyspark")
    if driver_version is not None and executor_version != driver_version:
        problem = f"pyspark {executor_version} is installed, but the driver has {driver_version}"
        yield Finding(
            PROBLEM,
            executor.name,
            problem,
            f"use the PySpark of the cluster's Spark: pip install pyspark=={executor_version}",
        )


def _unreachable(process: ProbedProcess) -> Iterator[Finding]:
    for address, reason in process.brokers.items():
        if reason is not None:
            problem = f"the broker {address} is not reachable from {process.host} ({reason})"
            fix = "open the network between them, or let the broker advertise a listener that this machine can reach"
            yield Finding(PROBLEM, process.name, problem, fix)


def _slow(process: ProbedProcess) -> Iterator[Finding]:
    if process.odradek is not None and process.plain_modules:
        problem = (
            f"{len(process.plain_modules)} compiled modules of odradek are missing, so that it is several times slower"
        )
        fix = "install a C compiler and Python's headers where odradek is installed, and install it again"
        yield Finding(WARNING, process.name, problem, fix)


def _version_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
