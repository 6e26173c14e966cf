"""Compile the hot modules with mypyc, in place: an extension module beside the source, which Python then prefers.

    python tools/compile_hot.py            compile what is older than its source
    python tools/compile_hot.py --clean    remove the extension modules

Nothing depends on it having run: the plain modules do the same, more slowly. Where there is no C compiler it says so
and succeeds.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"

#: Each becomes two extension modules: the code (`…__mypyc`) and, under the module's own name, the door to it.
HOT = (
    "odradek/records/walk.py",
    "odradek/records/decode.py",
    "odradek/records/pack.py",
    "odradek/client/producer/murmur2.py",
    "odradek/client/consumer/record.py",
)

SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


def built_names(module: str) -> tuple[str, str]:
    """The door comes last: with it there, the code must be."""
    stem = module.removesuffix(".py")
    return f"{stem}__mypyc{SUFFIX}", stem + SUFFIX


def is_current(module: str) -> bool:
    changed = (SOURCE / module).stat().st_mtime
    targets = [SOURCE / name for name in built_names(module)]
    return all(target.exists() and target.stat().st_mtime >= changed for target in targets)


def remove(module: str) -> None:
    for name in reversed(built_names(module)):
        (SOURCE / name).unlink(missing_ok=True)


def has_compiler() -> bool:
    command = sysconfig.get_config_var("CC") or "cc"
    return shutil.which(command.split()[0]) is not None


def compile_module(module: str) -> None:
    """In a process of its own: mypyc keeps state, and setuptools prints much."""
    with tempfile.TemporaryDirectory() as build:
        script = (
            "from setuptools import setup\n"
            "from mypyc.build import mypycify\n"
            f"setup(name='hot', packages=[], ext_modules=mypycify([{module!r}], opt_level='3', target_dir={build!r}),"
            f" script_args=['-q', 'build_ext', '--build-temp', {build!r}, '--build-lib', {build!r}])\n"
        )
        # Where the sources are there is no project file, into which setuptools would read a meaning of its own.
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=SOURCE,
            env={**os.environ, "MYPY_CACHE_DIR": f"{build}/cache"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"{module} does not compile:\n{done.stdout}{done.stderr}")
        for name in built_names(module):
            temporary = SOURCE / f"{name}.tmp"
            shutil.copy(f"{build}/{name}", temporary)
            os.replace(temporary, SOURCE / name)  # a running process keeps the one it has


def main(arguments: list[str]) -> None:
    if arguments == ["--clean"]:
        for module in HOT:
            remove(module)
        return
    if not has_compiler():
        print("No C compiler: the hot modules stay plain Python.")
        return
    for module in HOT:
        if not is_current(module):
            remove(module)  # rather the plain module than a compiled one of other source
            compile_module(module)
            print(f"compiled {module}")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(sys.argv[1:])
