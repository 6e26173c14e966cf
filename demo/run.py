"""`make demo`. Exit status 0 when every figure is met, 1 when one is not or something failed, 130 after Ctrl-C."""

import argparse
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType

from demo import report
from demo.findings import make_report
from demo.plan import Plan
from demo.publish import published
from demo.report import Report
from demo.shop import open_shop, tables_of
from demo.show import Show
from odradek.client import KafkaError
from odradek.errors import Fault, InputError
from odradek.spark.pipeline.report import charts

_ROOT = Path(__file__).parents[1]
_REPORT = _ROOT / "build" / "demo" / "report.html"

_SECONDS, _RATE, _SEED = 110, 1_000.0, 8
_STOPPED = 130


def main(arguments: list[str] | None = None) -> int:
    options = _parse(arguments)
    signal.signal(signal.SIGTERM, _stop)
    work = Path(tempfile.mkdtemp(prefix="odradek-demo-"))
    plan = Plan(options.seconds, options.rate, options.seed, work, options.report, kills=not options.no_kills)
    try:
        status = _run(plan, options)
    except KeyboardInterrupt:
        print("\nstopped; nothing is left running", file=sys.stderr)
        status = _STOPPED
    except (Fault, InputError, KafkaError) as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        kept = plan.report.with_name("failed")
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(work, kept, ignore=shutil.ignore_patterns("cluster", "tables"))
        print(f"demo: what the processes said is in {kept}", file=sys.stderr)
        status = 1
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return status


def _run(plan: Plan, options: argparse.Namespace) -> int:
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        raise InputError("Spark needs Java 17 or later, and there is none: install it, or set JAVA_HOME")
    show = Show()
    with open_shop(plan, show) as (cluster, story):
        show.phase("Every event is accounted for, by code that is not the pipeline")
        made = make_report(plan, story, cluster.bootstrap, tables_of(plan))
    for each in made.balances:
        show.say(
            f"{each.kind.value:<8}  {each.produced:>8,} produced = {each.in_table:>8,} in the table "
            f"+ {each.duplicates:>5,} duplicates dropped + {each.dead_letters:>5,} dead letters"
        )
    for name, value in made.figures.items():
        show.say(f"{name}: {value}")
    plan.report.parent.mkdir(parents=True, exist_ok=True)
    plan.report.write_text(report.render(made))
    plan.report.with_suffix(".svg").write_text(charts.draw(made.picture))
    if options.publish:
        _publish(made)
    for check in made.unmet:
        show.fault(f"not met: {check.what}: {check.found:,} instead of {check.expected:,}")
    if not made.unmet:
        show.recovered(f"all {len(made.checks)} figures are met: none lost, none doubled")
    show.phase(f"Report: {plan.report}")
    return 1 if made.unmet else 0


def _publish(made: Report) -> None:
    (_ROOT / "docs" / "demo.svg").write_text(charts.draw(made.picture))
    readme = _ROOT / "README.md"
    readme.write_text(published(readme.read_text(), made))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--seconds", type=int, default=_SECONDS, help="for which the shop is open (%(default)s)")
    parser.add_argument("--rate", type=float, default=_RATE, help="events a second (%(default)s)")
    parser.add_argument("--seed", type=int, default=_SEED, help="of the events (%(default)s)")
    parser.add_argument("--report", type=Path, default=_REPORT, help="where it is written (%(default)s)")
    parser.add_argument("--no-kills", action="store_true", help="kill neither a broker nor Spark's driver")
    parser.add_argument("--publish", action="store_true", help="put picture and figures into the README")
    return parser.parse_args(arguments)


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
