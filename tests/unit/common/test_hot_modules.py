"""Whether an installation says that its hot modules are compiled, also if only some are."""

import importlib
import importlib.machinery
import tomllib
from pathlib import Path

from odradek.common.hot_modules import HOT_MODULES, describe, plain_modules

ROOT = Path(__file__).parents[3]


def test_every_hot_module_exists_and_is_loaded_from_where_the_check_looks() -> None:
    plain = plain_modules()
    for name in HOT_MODULES:
        file = importlib.import_module(name).__file__
        assert file is not None
        assert file.endswith(".py") == (name in plain)


def test_an_extension_module_beside_the_source_counts_as_compiled(tmp_path: Path) -> None:
    assert plain_modules(root=str(tmp_path)) == list(HOT_MODULES)
    for name in HOT_MODULES:
        directory = tmp_path.joinpath(*name.split(".")[:-1])
        directory.mkdir(parents=True, exist_ok=True)
        # That of another Python is of no use to this one.
        (directory / f"{name.split('.')[-1]}.cpython-27-x86_64-linux-gnu.so").touch()
    assert plain_modules(root=str(tmp_path)) == list(HOT_MODULES)
    for name in HOT_MODULES[1:]:
        stem = str(tmp_path.joinpath(*name.split(".")))
        Path(stem + importlib.machinery.EXTENSION_SUFFIXES[0]).touch()
    assert plain_modules(root=str(tmp_path)) == [HOT_MODULES[0]]


def test_the_line_says_what_is_slow_and_what_to_do() -> None:
    assert describe([]) == "hot modules: compiled"
    remedy = "several times slower; install a C compiler and Python's headers, and reinstall"
    assert describe(HOT_MODULES) == f"hot modules: plain Python, {remedy}"
    assert describe(HOT_MODULES[:2]) == (
        f"hot modules: partly compiled, odradek.records.batch_walk, odradek.records.decode plain Python, {remedy}"
    )


def test_a_wheel_is_compiled_by_the_mypyc_that_the_tests_use() -> None:
    (pin,) = (
        requirement.partition("==")[2]
        for requirement in tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
        if requirement.startswith("mypy[mypyc]==")
    )
    assert f"\nmypy=={pin} " in (ROOT / "requirements" / "dev.lock").read_text()
