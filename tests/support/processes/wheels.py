"""The package as a user installs it: built from its sources, in a clean environment, started from elsewhere."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[3]

#: What a build reads, besides src.
_BUILD_FILES = ("LICENSE", "MANIFEST.in", "README.md", "pyproject.toml", "setup.py", "tools/compile_hot.py")

#: Settings of whoever runs the tests that would decide where odradek comes from, or whether it is compiled.
_UNSEEN = ("PYTHONPATH", "PYTHONHOME", "CC", "ODRADEK_PURE_PYTHON")

#: A loaded machine compiles slowly.
_LIMIT_S = 500


def copy_sources(target: Path) -> Path:
    """Copy what a build reads to `target`, so that nothing is written into the working copy."""
    leftovers = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", target / "src", ignore=leftovers)
    for name in _BUILD_FILES:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target / name)
    return target


def build_sdist(sources: Path, target: Path) -> Path:
    script = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    run_python(["-c", script, str(target)], cwd=sources)
    (sdist,) = target.glob("*.tar.gz")
    return sdist


def build_wheel(source: Path, target: Path, more_environment: Mapping[str, str] | None = None) -> Path:
    """Build with this environment's setuptools and mypy: the package index is not asked. Raises CalledProcessError."""
    options = ["--quiet", "--disable-pip-version-check", "--no-build-isolation", "--no-deps", "--no-index"]
    run_python(["-m", "pip", "wheel", *options, "--wheel-dir", str(target), str(source)], more=more_environment)
    (wheel,) = target.glob("*.whl")
    return wheel


def install(wheel: Path, environment: Path) -> Path:
    """Install into a new environment that sees this one's dependencies but not its odradek; return its bin directory.

    Path files of a directory that is itself named in a path file are not read, so an editable odradek is not seen."""
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
    run_python(["-m", "pip", "--python", str(python), "install", *options, str(wheel)])
    (site_packages,) = environment.glob("lib/python*/site-packages")
    ours = [entry for entry in sys.path if entry.endswith("site-packages")]
    (site_packages / "dependencies.pth").write_text("\n".join(ours))
    return environment / "bin"


def run_python(arguments: Sequence[str], cwd: Path | None = None, more: Mapping[str, str] | None = None) -> str:
    return run([sys.executable, *arguments], cwd, more)


def run(
    command: Sequence[str], cwd: Path | None = None, more: Mapping[str, str] | None = None, text: str | None = None
) -> str:
    """Return what a command printed. It does not see the working copy. Raises CalledProcessError, with what it printed
    on stderr as a note."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=clean_environment(more),
            input=text,
            check=True,
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
        )
    except subprocess.CalledProcessError as error:
        error.add_note(f"{error.stdout}\n{error.stderr}")
        raise
    return done.stdout


def clean_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    without = {name: value for name, value in os.environ.items() if name not in _UNSEEN}
    return {**without, **(more or {})}
