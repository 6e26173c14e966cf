from pathlib import Path

import pytest

from odradek.common.failures import InputError
from odradek.spark.deploy.distributions import Requirement, environment_files, executor_files, parse_requirement


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("click>=8.1", Requirement("click", (), None)),
        ("google_re2", Requirement("google-re2", (), None)),
        ('pyspark[pipelines]==4.2.0; extra == "spark"', Requirement("pyspark", ("pipelines",), "spark")),
        ("uvloop>=0.21; sys_platform != 'win32'", Requirement("uvloop", (), None)),
        ("a [ b , c ] ; extra=='x'", Requirement("a", (), "x")),
    ],
)
def test_a_requirement_is_parsed(text: str, expected: Requirement) -> None:
    assert parse_requirement(text) == expected


def test_executors_get_what_tasks_need_beyond_pyspark_and_its_own_packages() -> None:
    top_level = {Path(file.name).parts[0] for file in executor_files()}
    assert {"odradek", "pyspark_odradek", "cramjam", "crc32c", "isal", "lz4", "zstandard"} <= top_level
    assert not {"numpy", "pyarrow", "pandas", "pyspark", "py4j", "click", "rich", "uvloop"} & top_level


def test_an_environment_has_everything_but_spark_itself() -> None:
    names = {file.name for file in environment_files()}
    assert {"odradek/__init__.py", "numpy/__init__.py", "pyarrow/__init__.py", "pyspark/worker.py"} <= names
    assert not [name for name in names if name.startswith(("pyspark/jars/", "pandas/tests/"))]


def test_more_packages_can_be_added_and_must_be_installed() -> None:
    assert "msgspec/__init__.py" in {file.name for file in executor_files(["msgspec"])}
    with pytest.raises(InputError, match="the package no-such-package is not installed in this environment"):
        executor_files(["no_such.package"])
