"""Compile the hot modules with mypyc: an extension module beside the source, which Python then prefers.

    python tools/compile_hot.py            compile, in place, what is older than its source
    python tools/compile_hot.py --clean    remove the extension modules

`setup.py` compiles the same modules, by the same functions, into a wheel. Nothing depends on it having run: the plain
modules do the same, more slowly. Where there is no C compiler it says so and succeeds.
"""

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"

sys.path.insert(0, str(SOURCE))
from odradek.common.hot_modules import HOT_MODULES  # noqa: E402  the package need not be installed

SUFFIX: str = sysconfig.get_config_var("EXT_SUFFIX")

#: Run in a process of its own: mypyc keeps state, and setuptools prints much. The result depends on the sources only:
#: not on the packages that happen to be installed (an isolated build has none of our dependencies), not on the settings
#: with which `make types` checks all modules, and not on which warnings a compiler knows (-Werror is mypyc's).
_SCRIPT = """
import sys
from mypyc.build import mypycify
from setuptools import setup

source, build = sys.argv[1:]
options = ["--config-file=", "--no-site-packages", "--ignore-missing-imports", "--follow-imports=silent"]
extensions = mypycify([*options, source], opt_level="3", target_dir=build)
for extension in extensions:
    extension.extra_compile_args = [flag for flag in extension.extra_compile_args if flag != "-Werror"]
arguments = ["-q", "build_ext", "--build-temp", build, "--build-lib", build]
setup(name="hot", packages=[], ext_modules=extensions, script_args=arguments)
"""


class CompileError(Exception):
    """The C compiler or mypyc refused a module."""


def extension_names(module: str) -> tuple[str, str]:
    """Return the two extension modules that a hot module becomes: its code, and under its own name an entry that loads
    the code. The entry comes last: where it exists, the code does too."""
    return f"{module}__mypyc", module


def extension_files(module: str) -> tuple[str, ...]:
    return tuple(name.replace(".", "/") + SUFFIX for name in extension_names(module))


def is_current(module: str) -> bool:
    changed = (SOURCE / source_file(module)).stat().st_mtime
    targets = [SOURCE / name for name in extension_files(module)]
    return all(target.exists() and target.stat().st_mtime >= changed for target in targets)


def source_file(module: str) -> str:
    return module.replace(".", "/") + ".py"


def remove(module: str) -> None:
    for name in reversed(extension_files(module)):
        (SOURCE / name).unlink(missing_ok=True)


def reason_not_to_compile() -> str | None:
    """Return why the modules stay plain Python on this machine, or None if they are to be compiled.

    Any other failure to compile is an error."""
    if os.environ.get("ODRADEK_PURE_PYTHON") == "1":
        return "ODRADEK_PURE_PYTHON is 1"
    if sys.implementation.name != "cpython":
        return "mypyc compiles for CPython only"
    command = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    if shutil.which(command) is None:
        return f"there is no C compiler ({command})"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return f"Python's headers are missing ({sysconfig.get_path('include')}/Python.h)"
    return None


def compile_modules(modules: Sequence[str], target: Path) -> None:
    """Compile into `target`, as many modules at once as there are cores. Raises CompileError."""
    with ThreadPoolExecutor(os.cpu_count()) as executor:
        compilations = [executor.submit(_compile_module, module, target) for module in modules]
        try:
            for compilation in compilations:
                compilation.result()
        except BaseException:
            executor.shutdown(cancel_futures=True)
            raise


def _compile_module(module: str, target: Path) -> None:
    with tempfile.TemporaryDirectory() as build:
        # Where the sources are there is no project file that setuptools and mypy would read.
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT, source_file(module), build],
            cwd=SOURCE,
            env={**os.environ, "MYPY_CACHE_DIR": f"{build}/cache"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise CompileError(f"{module} does not compile:\n{done.stdout}{done.stderr}")
        for name in extension_files(module):
            destination = target / name
            destination.parent.mkdir(parents=True, exist_ok=True)
            temporary = destination.with_name(destination.name + ".tmp")
            shutil.copy(f"{build}/{name}", temporary)
            os.replace(temporary, destination)  # a running process keeps the one it has


def update_in_place() -> list[str]:
    """Compile the modules whose extension modules are missing or older than their source, and return them."""
    outdated = [module for module in HOT_MODULES if not is_current(module)]
    for module in outdated:
        remove(module)  # rather the plain module than a compiled one of other source
    compile_modules(outdated, SOURCE)
    return outdated


def main(arguments: list[str]) -> None:
    if arguments == ["--clean"]:
        for module in HOT_MODULES:
            remove(module)
        return
    reason = reason_not_to_compile()
    if reason is not None:
        print(f"The hot modules stay plain Python, several times slower: {reason}.")
        return
    try:
        for module in update_in_place():
            print(f"compiled {module}")
    except CompileError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(sys.argv[1:])
