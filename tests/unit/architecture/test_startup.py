"""Importing stays cheap: what a command does not use is not loaded."""

import json
import subprocess
import sys

import pytest

#: Each of these costs more than the whole start of the command may.
COSTLY = (
    "numpy",
    "rich",
    "lz4",
    "zstandard",
    "cramjam",
    "asyncio",
    "odradek.protocol",
    "odradek.records",
    "odradek.log",
)


def modules_after(statement: str) -> list[str]:
    script = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


@pytest.mark.parametrize(
    "statement",
    [
        *("import odradek", "import odradek.cli.main", "import odradek.cli.app", "import odradek.common.failures"),
        *("import odradek.client", "import odradek.client.blocking"),
    ],
)
def test_import_pulls_in_nothing_costly(statement: str) -> None:
    loaded = modules_after(statement)
    costly = [name for name in loaded if any(name == heavy or name.startswith(heavy + ".") for heavy in COSTLY)]
    assert not costly


def test_the_entry_point_does_not_import_click() -> None:
    assert "click" not in modules_after("import odradek.cli.main")


@pytest.mark.parametrize("role", ["broker", "controller"])
def test_a_node_loads_no_role_that_it_may_not_have_and_nothing_for_compaction(role: str) -> None:
    loaded = modules_after("import odradek.cli.commands.server")
    assert f"odradek.server.{role}.build" not in loaded
    with_role = modules_after(f"import odradek.cli.commands.server, odradek.server.{role}.build")
    assert "numpy" not in with_role


def test_a_node_loads_nothing_that_packages_load_for_their_own_ends() -> None:
    loaded = modules_after(
        "import odradek.cli.commands.server, odradek.server.broker.build, odradek.server.controller.build"
    )
    assert [name for name in ("importlib.metadata", "argparse", "email") if name in loaded] == []
