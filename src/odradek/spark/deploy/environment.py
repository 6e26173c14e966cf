"""The archive for `--archives`: a relocatable directory with a Python interpreter and all packages.

    bin/python      a shell script that starts the interpreter with the packages on its path
    packages/       Odradek, PySpark without Spark, and their dependencies
    python/         the interpreter with its standard library, unless the machines have one

A virtual environment cannot be packed: its interpreter is a link to one that the machines do not have. An interpreter
locates its standard library relative to itself, so that a copy works in any directory; the libraries it is linked with
are copied too, except for the C library, which is part of the system.
"""

import io
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from isal import igzip

from odradek.spark.deploy.distributions import PackagedFile

ARCHIVE_NAME = "odradek-environment.tar.gz"

#: The name of the directory on the executors: what follows the # in `--archives`.
DIRECTORY = "environment"

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"

_COMPRESSION_LEVEL = 2

_LAUNCHER = """\
#!/bin/sh
# Starts Python with the packages of this directory, wherever it was unpacked. Written by `odradek spark package`.
here=$(cd "$(dirname "$0")/.." && pwd -P) || exit 127
PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}$here/packages"
export PYTHONPATH
"""

_OWN_INTERPRETER = """\
LD_LIBRARY_PATH="$here/python/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export LD_LIBRARY_PATH
exec "$here/python/bin/python@VERSION@" "$@"
"""

_INTERPRETER_OF_THE_MACHINE = """\
for candidate in python@VERSION@ /usr/local/bin/python@VERSION@ /usr/bin/python@VERSION@ python3; do
    if "$candidate" -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != "@VERSION@")' 2>/dev/null; then
        exec "$candidate" "$@"
    fi
done
echo "odradek: there is no Python @VERSION@ on $(hostname): install it, or run odradek spark package --interpreter" >&2
exit 127
"""

#: Parts of the standard library that no job uses.
_LEFT_OUT = (
    *("test", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data", "site-packages"),
    *("dist-packages", "sitecustomize.py"),
)

#: Libraries of the system, which must match each other and the kernel.
_SYSTEM_LIBRARIES = re.compile(r"^(?:linux-vdso|ld-linux|lib(?:c|m|dl|rt|pthread|util|resolv|nsl|anl|crypt))[.-]")
_LINKED = re.compile(r"^\s*(\S+) => (/\S+)", re.MULTILINE)


def write_environment(path: Path, files: Sequence[PackagedFile], *, interpreter: bool) -> None:
    """Pack the files, with this process's interpreter or without one.

    Compiled modules of this Python are included, here and in its standard library: otherwise each executor would spend
    seconds compiling them."""
    tag = f".{sys.implementation.cache_tag}."
    included = [file for file in files if "__pycache__" not in file.name or tag in file.name]
    with (
        igzip.IGzipFile(path, "wb", compresslevel=_COMPRESSION_LEVEL) as stream,  # type: ignore[no-untyped-call]
        tarfile.open(fileobj=stream, mode="w|") as archive,
    ):
        _add_launcher(archive, interpreter=interpreter)
        for file in included:
            _add(archive, f"packages/{file.name}", file.source)
        if interpreter:
            for name, source in _interpreter_files():
                _add(archive, f"python/{name}", source)


def _add_launcher(archive: tarfile.TarFile, *, interpreter: bool) -> None:
    text = _LAUNCHER + (_OWN_INTERPRETER if interpreter else _INTERPRETER_OF_THE_MACHINE)
    content = text.replace("@VERSION@", VERSION).encode()
    entry = tarfile.TarInfo("bin/python")
    entry.size, entry.mode = len(content), 0o755
    archive.addfile(entry, io.BytesIO(content))
    for name in ("bin/python3", f"bin/python{VERSION}"):
        link = tarfile.TarInfo(name)
        link.type, link.linkname = tarfile.SYMTYPE, "python"
        archive.addfile(link)


def _add(archive: tarfile.TarFile, name: str, source: Path) -> None:
    entry = archive.gettarinfo(str(source.resolve()), name)
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    with source.open("rb") as stream:
        archive.addfile(entry, stream)


def _interpreter_files() -> Iterator[tuple[str, Path]]:
    """Yield names below the prefix of the interpreter, and their paths on this machine."""
    executable = Path(sys.executable).resolve()
    yield f"bin/python{VERSION}", executable
    library = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix}))
    modules = list(_standard_library(library))
    for path in modules:
        yield f"lib/python{VERSION}/{path.relative_to(library).as_posix()}", path
    linked = [executable, *(path for path in modules if path.suffix == ".so")]
    for name, path in sorted(_linked_libraries(linked).items()):
        yield f"lib/{name}", path


def _standard_library(library: Path) -> Iterator[Path]:
    for path in sorted(library.rglob("*")):
        parts = path.relative_to(library).parts
        is_left_out = parts[0] in _LEFT_OUT or parts[0].startswith("config-")
        is_left_out |= "__pycache__" in parts and not path.name.endswith(f".{sys.implementation.cache_tag}.pyc")
        is_left_out |= path.name.startswith("_tkinter.")  # requires a window system
        if path.is_file() and not is_left_out and not ({"test", "tests"} & set(parts[:-1])):
            yield path


def _linked_libraries(paths: Sequence[Path]) -> dict[str, Path]:
    """Return the shared libraries that these files are linked with, without those of the system, by name."""
    if shutil.which("ldd") is None:
        return {}
    ldd = subprocess.run(["ldd", *map(str, paths)], capture_output=True, text=True, check=False)
    linked = {name: Path(path) for name, path in _LINKED.findall(ldd.stdout)}
    return {name: path for name, path in linked.items() if not _SYSTEM_LIBRARIES.match(name) and path.is_file()}
