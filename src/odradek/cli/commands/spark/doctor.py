"""`odradek spark doctor`: diagnosis of the executors of a Spark cluster."""

import os
import socket
from dataclasses import asdict
from urllib.parse import urlsplit

import click

from odradek.cli.base.connection import on_cluster, router_for
from odradek.cli.base.errors import describe, echo, wrong_usage
from odradek.cli.base.options import Settings, network_options
from odradek.cli.base.output import plural, print_json, print_table
from odradek.cli.base.pairs import parse_pairs
from odradek.common.failures import ApiError, InputError, ProtocolError
from odradek.spark.deploy.diagnosis import PROBLEM, Examination, Finding, ProbedProcess, findings
from odradek.spark.deploy.doctor import run_doctor
from odradek.spark.deploy.doctor_job import DoctorJob

_TIMEOUT_S = 300

#: Default port of a Spark Connect server.
_CONNECT_PORT = 15002
_CONNECT_TIMEOUT_S = 10

_NONE = "-"


@click.command("doctor")
@click.option("--master", metavar="URL", help="spark://HOST:PORT, yarn, k8s://… or local[N] [default: local[*]].")
@click.option("--remote", metavar="URL", help="A Spark Connect server, sc://HOST:PORT, instead of --master.")
@click.option("--conf", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of Spark; may be repeated.")
@click.option("--py-files", metavar="FILES", help="As for spark-submit.")
@click.option("--archives", metavar="FILES", help="As for spark-submit.")
@click.option(
    "--timeout", type=click.IntRange(min=1), default=_TIMEOUT_S, show_default=True, help="Time limit in seconds."
)
@network_options
@click.pass_obj
def doctor(
    settings_of_command: Settings,
    master: str | None,
    remote: str | None,
    settings: tuple[str, ...],
    py_files: str | None,
    archives: str | None,
    timeout: int,
) -> int:
    """Run a job on every executor, and report its Python, packages, Odradek, and reachable brokers.

    Use the options with which the real job is started. With --bootstrap, all brokers that the cluster advertises must
    be reachable from every machine. Exit status 1 if there is a problem.

    \b
    odradek spark doctor --master spark://spark-1:7077 -b broker-1:9092
    """
    with wrong_usage():
        conf = parse_pairs(settings, "--conf", "spark.executor.memory=1g")
    if master and remote:
        raise click.UsageError("--master and --remote exclude each other")
    if remote is not None:
        _check_reachable(remote)
    addresses, broker_problem = _addresses(settings_of_command)
    job = DoctorJob(
        master=None if remote else master or conf.get("spark.master") or "local[*]",
        remote=remote,
        settings=conf,
        py_files=py_files,
        archives=archives,
        addresses=addresses,
        bootstrap=settings_of_command.bootstrap_servers,
    )
    examination = run_doctor(job, timeout, broker_problem)
    reported = findings(examination)
    _show(examination, reported, settings_of_command)
    return 1 if any(finding.severity == PROBLEM for finding in reported) else 0


def _addresses(settings: Settings) -> tuple[tuple[tuple[str, int], ...], str | None]:
    """Return the brokers that executors must reach: the bootstrap servers and all that the cluster advertises; and the
    error if the cluster did not respond."""
    if not settings.bootstrap and not os.environ.get("ODRADEK_BOOTSTRAP"):
        return (), None
    router = router_for(settings)
    named = [(address.host, address.port) for address in router.addresses]
    try:
        nodes = on_cluster(settings, lambda admin: admin.cluster.describe()).nodes
    except (ApiError, ProtocolError, OSError) as error:
        return tuple(named), f"{settings.bootstrap_servers} is not reachable from this machine ({describe(error)})"
    return tuple(dict.fromkeys([*named, *((node.host, node.port) for node in nodes)])), None


def _check_reachable(url: str) -> None:
    """Raise an error if the server does not accept connections: Spark's client would retry for minutes."""
    parts = urlsplit(url)
    if parts.scheme != "sc" or not parts.hostname:
        raise click.UsageError(f"--remote {url}: expected sc://HOST:PORT")
    try:
        socket.create_connection((parts.hostname, parts.port or _CONNECT_PORT), _CONNECT_TIMEOUT_S).close()
    except OSError as error:
        raise InputError(f"{url} is not reachable: {error.strerror or error}") from None


def _show(examination: Examination, reported: list[Finding], settings: Settings) -> None:
    problems = [finding for finding in reported if finding.severity == PROBLEM]
    processes = [*([] if examination.driver is None else [examination.driver]), *examination.executors]
    if settings.as_json:
        document = {
            "good": not problems,
            "spark": examination.spark,
            "data_source_found": examination.source_problem is None,
            "processes": [asdict(process) for process in processes],
            "findings": [finding.to_json() for finding in reported],
        }
        print_json(document)
        return
    source = "does not find" if examination.source_problem else "finds"
    executors = plural(len(examination.executors), "executor")
    echo(f"Spark {examination.spark} {source} the data source odradek; {executors} responded")
    headers = (
        "process",
        "host",
        "python",
        "pyspark",
        "pyarrow",
        "numpy",
        "odradek",
        "compiled",
        "brokers",
        "interpreter",
    )
    print_table(headers, [_row(process) for process in processes])
    for finding in reported:
        echo(str(finding))
    if not problems:
        echo("no problems")


def _row(process: ProbedProcess) -> tuple[object, ...]:
    reached = sum(reason is None for reason in process.brokers.values())
    compiled = _NONE if process.odradek is None else "no" if process.plain_modules else "yes"
    return (
        process.name,
        process.host,
        process.version,
        *(process.packages.get(name) or _NONE for name in ("pyspark", "pyarrow", "numpy")),
        process.odradek or _NONE,
        compiled,
        f"{reached} of {len(process.brokers)}" if process.brokers else _NONE,
        process.python,
    )
