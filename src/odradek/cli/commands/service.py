"""`odradek service run MODULE:APP`: a consumer service in the foreground.

odradek service run shop:app
odradek service run shop.workers:app --admin 0.0.0.0:9645 -b kafka-1:9092,kafka-2:9092

SIGTERM and Ctrl-C stop it: no new messages are started, running handlers may finish, offsets are committed, and the
service leaves its group. A second signal ends the process at once; unfinished messages will be consumed again.
"""

import asyncio
import importlib
import os
import signal
import sys
import time
import traceback

import click

from odradek.cli.base.errors import echo
from odradek.cli.base.options import DEFAULT_BOOTSTRAP, Settings, local_options, network_options
from odradek.cli.base.output import Progress, plural, print_json, print_table
from odradek.cli.commands.server_log import log_to_stderr
from odradek.common.failures import InputError
from odradek.common.files import OsFileSystem
from odradek.common.properties import read_properties
from odradek.network.loop import run
from odradek.service.admin_http import Watching
from odradek.service.application import Service
from odradek.service.counters import Ending
from odradek.service.group_state import GroupPhase
from odradek.service.handlers import Handler

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

_PROGRESS_S = 0.5


@click.group()
@local_options
def service() -> None:
    """Run a consumer service."""


@service.command("run")
@click.argument("target", metavar="MODULE:APP")
@click.option("--admin", metavar="HOST:PORT", help="Address that serves /healthz, /readyz and /metrics.")
@network_options
@click.pass_obj
def run_command(settings: Settings, target: str, admin: str | None) -> None:
    """Run the Service, or the CeleryBridge, in variable APP of MODULE, until SIGTERM or Ctrl-C.

    \b
    odradek service run shop:app
    odradek service run shop:app --admin localhost:9645 -b localhost:9092

    MODULE is imported from the current directory or from the installed packages. -b and --command-config override the
    settings of the service.
    """
    app = find_service(target)
    if settings.command_config is not None:
        app.add_client_settings(read_properties(OsFileSystem(), settings.command_config).values)
    if settings.bootstrap or app.bootstrap_servers is None:
        app.bootstrap_servers = settings.bootstrap_servers
    if admin is not None:
        app.watching = Watching(admin, app)
    progress = Progress()
    log_to_stderr(
        None, verbose=settings.verbose, utc=settings.utc, as_json=settings.as_json, before_line=progress.finish
    )
    _show_service(app, as_json=settings.as_json)
    run(_serve(app, progress, quiet=settings.as_json))


def find_service(target: str) -> Service:
    """Return the service of MODULE:APP; without :APP the only service of the module.

    Raises InputError that lists the services of the module.
    """
    module_name, _, variable = target.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    module = _import(module_name)
    services = {name: value for name, value in vars(module).items() if isinstance(value, Service)}
    if not variable and len(set(map(id, services.values()))) == 1:
        return next(iter(services.values()))
    if variable in services:
        return services[variable]
    names = ", ".join(f"{module_name}:{name}" for name in services)
    available = f"available: {names}" if services else "it has no Service"
    if not variable:
        raise InputError(f"{module_name}: pass MODULE:APP; {available}.")
    if hasattr(module, variable):
        type_name = type(getattr(module, variable)).__name__
        raise InputError(f"{target} is of type {type_name}, not odradek.service.Service; {available}.")
    raise InputError(f"{module_name} has no {variable}; {available}.")


def _import(name: str) -> object:
    try:
        return importlib.import_module(name)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise InputError(f"module {name} is neither in {os.getcwd()} nor installed. Expected MODULE:APP.") from None
        raise InputError(f"{name}: {error}; is it installed?") from error
    except (Exception, SystemExit) as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise InputError(
            f"{name} cannot be imported: {type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"
        ) from error


def _show_service(app: Service, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "service": app.name,
                "group": app.group_id,
                "bootstrap": app.bootstrap_servers or DEFAULT_BOOTSTRAP,
                "exactly_once": app.exactly_once,
                "handlers": [_handler_document(app, handler) for handler in app.handlers],
            }
        )
    else:
        mode = "exactly once" if app.exactly_once else "at least once"
        echo(f"service {app.name}, group {app.group_id}, at {app.bootstrap_servers}, {mode}")
        rows = [_handler_row(app, handler) for handler in app.handlers]
        print_table(("topic", "handler", "message", "concurrency", "order", "time limit", "on failure"), rows)
    sys.stdout.flush()


def _handler_document(app: Service, handler: Handler) -> dict[str, object]:
    return {
        "topic": handler.topic,
        "handler": handler.name,
        "message": handler.codec.name,
        "concurrency": handler.concurrency,
        "order": handler.order.value,
        "time_limit_s": handler.time_limit_s,
        "retries_in_place": handler.retries.in_place,
        "retry_topics": [app.names.retry_topic(handler.topic, delay) for delay in handler.retries.topics],
        "dead_topic": app.names.dead_topic(handler.topic) if handler.dead_letters else None,
    }


def _handler_row(app: Service, handler: Handler) -> tuple[object, ...]:
    steps = [plural(handler.retries.in_place, "attempt") + " more"] if handler.retries.in_place else []
    steps += [f"after {delay}" for delay in handler.retries.topics]
    steps += [app.names.dead_topic(handler.topic) if handler.dead_letters else "dropped"]
    limit = "none" if handler.time_limit_s is None else f"{handler.time_limit_s:g} s"
    return (
        *(handler.topic, handler.name, handler.codec.name, handler.concurrency, handler.order.value, limit),
        ", ".join(steps),
    )


async def _serve(app: Service, progress: Progress, *, quiet: bool) -> None:
    loop = asyncio.get_running_loop()
    running = asyncio.ensure_future(app.run())

    def stop() -> None:
        for signal_number in _STOP_SIGNALS:
            loop.remove_signal_handler(signal_number)  # the next one ends the process
        if app.since_poll_ms() is None:
            running.cancel()
        else:
            progress.finish()
            echo("stopping: waiting for running handlers; press Ctrl-C again to exit at once", err=True)
        app.stop()

    for signal_number in _STOP_SIGNALS:
        loop.add_signal_handler(signal_number, stop)
    reporting = asyncio.ensure_future(_report_progress(app, progress, quiet=quiet))
    try:
        await running
    except asyncio.CancelledError:
        return  # stopped during start-up
    finally:
        reporting.cancel()
        progress.finish()
    if not quiet:
        echo(f"stopped: {progress_text(app)}", err=True)


async def _report_progress(app: Service, progress: Progress, *, quiet: bool) -> None:
    """Show progress; rates are those since the last line."""
    reported, reported_s = 0, time.monotonic()
    while not quiet:
        await asyncio.sleep(_PROGRESS_S)
        handled, now_s = app.figures.count(Ending.HANDLED), time.monotonic()
        rate = (handled - reported) / (now_s - reported_s)
        if progress.say(f"{progress_text(app)}, {rate:,.0f}/s"):
            reported, reported_s = handled, now_s


def progress_text(app: Service) -> str:
    counters = app.figures
    phase = app.group_phase()
    parts = [app.group_text()] if phase is not None and phase is not GroupPhase.READING else []
    parts += [f"handled {counters.count(Ending.HANDLED):,}"]
    for name, count in (
        ("failed attempts", counters.failed_attempts),
        ("to retry topics", counters.count(Ending.MOVED)),
        ("dead", counters.count(Ending.DEAD)),
        ("dropped", counters.count(Ending.DROPPED)),
        ("skipped", counters.count(Ending.SKIPPED)),
        ("waiting", app.waiting),
        ("in hand", app.in_hand - app.waiting),
    ):
        if count:
            parts.append(f"{name} {count:,}")
    lags = app.lags()
    return ", ".join([*parts, f"lag {sum(lags.values()):,}"] if lags else parts)
