"""What `pip install` installs: hot modules that are compiled, or a word that they are not.

One wheel is built from a source distribution, with a C compiler; another from a directory, without one.
"""

import importlib.machinery
import json
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek import __version__
from odradek.common.hot_modules import HOT_MODULES, describe
from support.processes.cli import free_port
from support.processes.wheels import build_sdist, build_wheel, clean_environment, copy_sources, install, run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SUFFIX = importlib.machinery.EXTENSION_SUFFIXES[0]
OTHER_SUFFIX = ".cpython-27-x86_64-linux-gnu.so"

LOADED = "import importlib, json; print(json.dumps([importlib.import_module(name).__file__ for name in {names!r}]))"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With what earlier builds may have left: an extension module of another Python, and a module that is gone."""
    sources = copy_sources(tmp_path_factory.mktemp("sources"))
    (sources / f"src/odradek/records/batch_walk{OTHER_SUFFIX}").touch()
    for left in (f"odradek/records/batch_walk{OTHER_SUFFIX}", "odradek/removed.py"):
        (sources / "build/lib" / left).parent.mkdir(parents=True, exist_ok=True)
        (sources / "build/lib" / left).touch()
    return sources


@pytest.fixture(scope="module")
def compiled_wheel(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    sdist = build_sdist(sources, tmp_path_factory.mktemp("sdist"))
    return build_wheel(sdist, tmp_path_factory.mktemp("compiled"))


@pytest.fixture(scope="module")
def pure_wheel(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(sources, tmp_path_factory.mktemp("pure"), {"CC": "/nonexistent/cc"})


@pytest.fixture(scope="module")
def bin_directory(compiled_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(compiled_wheel, tmp_path_factory.mktemp("installed") / "env")


def files_of(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def source_files() -> set[str]:
    """What a wheel has to have, whether or not it is compiled."""
    source = ROOT / "src"
    paths = [path for pattern in ("*.py", "py.typed") for path in source.rglob(pattern)]
    return {str(path.relative_to(source)) for path in paths}


def test_a_wheel_has_every_module_and_the_compiled_ones_for_this_python(compiled_wheel: Path) -> None:
    stems = [module.replace(".", "/") + half for module in HOT_MODULES for half in ("", "__mypyc")]
    assert files_of(compiled_wheel) == source_files() | {stem + SUFFIX for stem in stems}
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    assert compiled_wheel.name == f"odradek-{__version__}-{tag}-{tag}-{platform}.whl"


def test_an_installation_loads_the_compiled_modules_and_says_so(bin_directory: Path, tmp_path: Path) -> None:
    version = run([str(bin_directory / "odradek"), "--version"], cwd=tmp_path)
    assert version == f"odradek {__version__} (hot modules: compiled)\n"
    loaded = json.loads(run([str(bin_directory / "python"), "-c", LOADED.format(names=HOT_MODULES)], cwd=tmp_path))
    assert all(file.startswith(str(bin_directory.parent)) and file.endswith(SUFFIX) for file in loaded), loaded


def test_the_plugin_of_pytest_is_installed_and_runs_an_installed_node(bin_directory: Path, tmp_path: Path) -> None:
    (tmp_path / "test_installed.py").write_text(
        "import odradek\n\n\n"
        f"def test_it(odradek_topic):\n    assert odradek.__file__.startswith({str(bin_directory.parent)!r})\n"
    )
    command = [str(bin_directory / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_installed.py"]
    assert "1 passed" in run(command, cwd=tmp_path)


@pytest.fixture
def bootstrap(bin_directory: Path, tmp_path: Path) -> Iterator[str]:
    """Address of a cluster that the installed command runs, by its path and from another directory."""
    command = [str(bin_directory / "odradek"), "up", "--format", "json", "--port", free_port(2)]
    with subprocess.Popen(command, cwd=tmp_path, env=clean_environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["bootstrap"]
        process.terminate()


def test_records_go_through_an_installed_node_by_installed_clients(
    bin_directory: Path, bootstrap: str, tmp_path: Path
) -> None:
    odradek = str(bin_directory / "odradek")
    run([odradek, "produce", "orders", "-b", bootstrap], cwd=tmp_path, text="tea\nmilk\n")
    read = run([odradek, "consume", "orders", "-b", bootstrap, "-e"], cwd=tmp_path)
    assert read == "tea\nmilk\n"
    (log,) = (tmp_path / ".odradek").rglob("node.log")
    assert f"odradek {__version__}, hot modules: compiled" in log.read_text().splitlines()[0]


def test_without_a_compiler_the_wheel_is_pure_and_says_that_it_is_slower(pure_wheel: Path, tmp_path: Path) -> None:
    assert pure_wheel.name == f"odradek-{__version__}-py3-none-any.whl"
    assert files_of(pure_wheel) == source_files()
    odradek = install(pure_wheel, tmp_path / "env") / "odradek"
    assert run([str(odradek), "--version"], cwd=tmp_path) == f"odradek {__version__} ({describe(HOT_MODULES)})\n"


def test_any_other_failure_to_compile_fails_the_build(sources: Path, tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho 'internal compiler error' >&2\nexit 1\n")
    compiler.chmod(0o755)
    with pytest.raises(subprocess.CalledProcessError) as failed:
        build_wheel(sources, tmp_path, {"CC": str(compiler)})
    assert "internal compiler error" in failed.value.__notes__[0]
