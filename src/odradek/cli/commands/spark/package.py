"""`odradek spark package`: files with Odradek for the executors of a Spark cluster."""

from pathlib import Path

import click

from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings, local_options
from odradek.cli.base.output import print_json
from odradek.spark.deploy.ways import ARCHIVE, PY_FILES, Way, write_archive, write_py_files

_TITLES = {
    PY_FILES: "A zip for --py-files. Each machine needs",
    ARCHIVE: "An environment for --archives. Each machine needs",
}


@click.command("package")
@click.option(
    *("-o", "--output", "directory"),
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("dist"),
    show_default=True,
    help="Where the files are written.",
)
@click.option("--only", type=click.Choice((PY_FILES, ARCHIVE)), help="Write only the files of one way.")
@click.option("--with", "more", multiple=True, metavar="PACKAGE", help="An installed package to add; may be repeated.")
@click.option(
    "--interpreter/--no-interpreter",
    default=True,
    show_default=True,
    help="Put this Python into the archive, so that the machines need none.",
)
@local_options
@click.pass_obj
def package(settings: Settings, directory: Path, only: str | None, more: tuple[str, ...], interpreter: bool) -> None:
    """Write Odradek and what it needs into files that Spark sends to executors.

    There are two ways, and files for both: a small zip for machines that have numpy, pandas and pyarrow, and a whole
    environment for machines that have nothing. The matching options of spark-submit are printed.

    \b
    odradek spark package -o dist
    """
    directory.mkdir(parents=True, exist_ok=True)
    ways = []
    if only != ARCHIVE:
        ways.append(write_py_files(directory, more))
    if only != PY_FILES:
        ways.append(write_archive(directory, more, interpreter=interpreter))
    if settings.as_json:
        print_json({"ways": [_document(way) for way in ways]})
        return
    for way in ways:
        _show(way)


def _show(way: Way) -> None:
    for path in way.files:
        echo(f"wrote {path} ({_megabytes(path)})")
    echo(f"{_TITLES[way.name]} {way.machines_need} Options of spark-submit:")
    echo(f"  {way.command_line()}")


def _document(way: Way) -> dict[str, object]:
    return {
        "way": way.name,
        "files": [{"path": str(path), "bytes": path.stat().st_size} for path in way.files],
        "machines_need": way.machines_need,
        "options": [word for option in way.options for word in option],
    }


def _megabytes(path: Path) -> str:
    return f"{path.stat().st_size / 1_000_000:,.1f} MB"
