"""`odradek spark doctor`: what the executors of a Spark cluster have, and what is wrong with it."""

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
from odradek.spark.deploy.diagnosis import PROBLEM, Examination, Finding, Process, findings
from odradek.spark.deploy.doctor import run_doctor
from odradek.spark.deploy.doctor_job import DoctorJob

_TIMEOUT_S = 300

#: Of a Spark Connect server.
_CONNECT_PORT = 15002
_CONNECT_TIMEOUT_S = 10

_NONE = "-"


@click.command("doctor")
@click.option("--master", metavar="URL", help="spark://HOST:PORT, yarn, k8s://… or local[N] [default: local[*]].")
@click.option("--remote", metavar="URL", help="A Spark Connect server, sc://HOST:PORT, instead.")
@click.option("--conf", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of Spark; may be repeated.")
@click.option("--py-files", metavar="FILES", help="As for spark-submit.")
@click.option("--archives", metavar="FILES", help="As for spark-submit.")
@click.option(
    "--timeout", type=click.IntRange(min=1), default=_TIMEOUT_S, show_default=True, help="Seconds for all of it."
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
    """Run a job on every executor, and say what it finds: Python, packages, Odradek, and which brokers it reaches.

    Take the options with which the real job is started. Brokers are looked at if --bootstrap names one of them: those
    that it advertises must be reachable from every machine. Exit status 1 if there is a problem.

    \b
    odradek spark doctor --master spark://spark-1:7077 -b broker-1:9092
    """
    with wrong_usage():
        conf = parse_pairs(settings, "--conf", "spark.executor.memory=1g")
    if master and remote:
        raise click.UsageError("--master and --remote exclude each other")
    if remote is not None:
        _check_answers(remote)
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
    seen = run_doctor(job, timeout, broker_problem)
    found = findings(seen)
    _show(seen, found, settings_of_command)
    return 1 if any(each.severity == PROBLEM for each in found) else 0


def _addresses(settings: Settings) -> tuple[tuple[tuple[str, int], ...], str | None]:
    """The brokers that executors must reach: those that were named, and those that these advertise; and why they could
    not be asked."""
    if not settings.bootstrap and not os.environ.get("ODRADEK_BOOTSTRAP"):
        return (), None
    router = router_for(settings)
    named = [(address.host, address.port) for address in router.addresses]
    try:
        nodes = on_cluster(settings, lambda admin: admin.cluster.describe()).nodes
    except (ApiError, ProtocolError, OSError) as error:
        return tuple(named), f"{settings.bootstrap_servers} does not answer from this machine ({describe(error)})"
    return tuple(dict.fromkeys([*named, *((node.host, node.port) for node in nodes)])), None


def _check_answers(url: str) -> None:
    """Spark's client would try for minutes."""
    parts = urlsplit(url)
    if parts.scheme != "sc" or not parts.hostname:
        raise click.UsageError(f"--remote {url}: the form is sc://HOST:PORT")
    try:
        socket.create_connection((parts.hostname, parts.port or _CONNECT_PORT), _CONNECT_TIMEOUT_S).close()
    except OSError as error:
        raise InputError(f"{url} does not answer: {error.strerror or error}") from None


def _show(seen: Examination, found: list[Finding], settings: Settings) -> None:
    problems = [each for each in found if each.severity == PROBLEM]
    processes = [*([] if seen.driver is None else [seen.driver]), *seen.executors]
    if settings.as_json:
        document = {
            "good": not problems,
            "spark": seen.spark,
            "data_source_found": seen.source_problem is None,
            "processes": [asdict(each) for each in processes],
            "findings": [asdict(each) for each in found],
        }
        print_json(document)
        return
    source = "does not find" if seen.source_problem else "finds"
    echo(f"Spark {seen.spark} {source} the data source odradek; {plural(len(seen.executors), 'executor')} answered")
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
    print_table(headers, [_row(each) for each in processes])
    for each in found:
        echo(str(each))
    if not problems:
        echo("no problems")


def _row(process: Process) -> tuple[object, ...]:
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
