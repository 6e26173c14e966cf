"""What is said of a PySpark that is too old, at import and by the check of a pipeline, without a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

from odradek.spark import installed_spark
from odradek.spark.pipeline.check import java_problems

#: As far as it is looked at before anything else of it is used.
SPARK_4_0 = {
    "__init__.py": "from pyspark.version import __version__",
    "version.py": '__version__: str = "4.0.5"',
    "sql/__init__.py": "",
    "sql/datasource.py": "class DataSource: ...",
    "sql/types.py": "class DataType: ...",
    "sql/pandas/__init__.py": "",
    "sql/pandas/types.py": "def to_arrow_type(dt): ...",
}


@pytest.fixture
def old_spark(tmp_path: Path) -> Path:
    for name, text in SPARK_4_0.items():
        path = tmp_path / "pyspark" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_import_with_a_spark_that_is_too_old(old_spark: Path) -> None:
    script = f"import sys; sys.path.insert(0, {str(old_spark)!r}); import odradek.spark as s; s.register(None)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].partition(": ")[2] == (
        "odradek.spark requires Spark 4.1 or newer, and PySpark 4.0.5 is installed: it has no "
        "DataSourceStreamArrowWriter, with which streams are written: pip install 'pyspark>=4.1,<5'"
    )


def test_check_with_a_spark_without_pipelines(old_spark: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed_spark, "spark_directory", lambda: old_spark / "pyspark")
    installed_spark.spark_version.cache_clear()
    try:
        assert installed_spark.spark_release() == "4.0"
        assert str(next(java_problems())) == (
            "Spark 4.0.5 has no Declarative Pipelines; odradek pipeline requires 4.1 or newer: "
            "pip install 'pyspark[pipelines]>=4.1,<5'"
        )
    finally:
        installed_spark.spark_version.cache_clear()
