"""What is made of the tests' report, and of the lock file, in the runs with several versions of Spark."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    path = ROOT / "tools" / "spark_versions.py"
    spec = importlib.util.spec_from_file_location("odradek_tools_spark_versions", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def case(test: str, inside: str = "") -> str:
    file, _, name = test.partition("::")
    return f'<testcase file="{file}" name="{name or "test_any"}">{inside}</testcase>'


def test_each_part_has_an_outcome(tool: ModuleType) -> None:
    sink, delta = tool.PARTS["sink"][0], tool.PARTS["Delta"][0]
    inside = {sink: "<failure/>", delta: '<properties><property name="note" value="4.4.0 passed"/></properties>'}
    cases = "".join(case(test, inside.get(test, "")) for tests in tool.PARTS.values() for test in tests)
    assert tool.outcomes(f"<testsuite>{cases}</testsuite>") == {
        **dict.fromkeys(tool.PARTS, "passed"),
        "sink": "failed",
        "Delta": "4.4.0 passed",
    }
    assert set(tool.outcomes("<testsuite/>").values()) == {"failed"}, "a part without a test has not passed"


def test_every_test_of_a_part_exists(tool: ModuleType) -> None:
    for test in (test for tests in tool.PARTS.values() for test in tests):
        file, _, name = test.partition("::")
        assert f"def {name or 'test_'}" in (ROOT / file).read_text(), test


def test_versions_of_the_lock_without_those_of_spark(tool: ModuleType) -> None:
    lock = "a==1.0 ; python_full_version < '3.12' \\\n    --hash=sha256:1\npyspark==4.2.0 \\\nPy4J==1\nb[c]==2\n"
    assert tool.locked_versions(lock) == ["a==1.0 ; python_full_version < '3.12'", "b==2"]


def test_only_the_rows_of_the_versions_in_the_table_of_the_document_is_replaced(
    tool: ModuleType, tmp_path: Path
) -> None:
    document = tmp_path / "spark.md"
    document.write_text(f"before\n{tool.BEGIN}\n{tool.END}\nafter\n")
    passed, failed = (dict.fromkeys(tool.PARTS, outcome) for outcome in ("passed", "failed"))
    tool.write_rows(document, [tool.Result("4.2.0", failed), tool.Result("4.10.0", failed)])
    tool.write_rows(document, [tool.Result("4.2.0", passed), tool.Result("4.1.4", passed)])
    results = [("4.1.4", passed), ("4.2.0", passed), ("4.10.0", failed)]
    table = tool.render([tool.Result(version, outcomes) for version, outcomes in results])
    assert document.read_text() == f"before\n{tool.BEGIN}\n{table}\n{tool.END}\nafter\n"
    assert tool.BEGIN in (ROOT / "docs" / "spark.md").read_text()
