"""What Spark sends to other processes can be loaded, or says what is missing, where the package is not installed."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pyspark.serializers import CPickleSerializer

from odradek.spark import portable
from odradek.spark.portable import load_class
from odradek.spark.source import OdradekDataSource
from odradek.spark.source.batch_reader import BatchReader

SERIALIZER = CPickleSerializer()


def test_a_class_and_its_instances_come_back_as_they_were() -> None:
    assert SERIALIZER.loads(SERIALIZER.dumps(OdradekDataSource)) is OdradekDataSource
    source = SERIALIZER.loads(SERIALIZER.dumps(OdradekDataSource({"subscribe": "a"})))
    assert type(source) is OdradekDataSource and source.options == {"subscribe": "a"}


def test_what_is_sent_brings_the_function_that_loads_it() -> None:
    """Nothing of the package is named before that function runs."""
    pickled = SERIALIZER.dumps(BatchReader)
    assert (
        b"odradek.spark.source.batch_reader" in pickled
        and b"BatchReader" in pickled
        and b"odradek-spark*.zip" in pickled
    )


def test_what_spark_calls_can_be_sent() -> None:
    from odradek.spark.sink.data_sink import BatchWriter, StreamWriter
    from odradek.spark.source.stream_reader import InvalidOptionsReader, StreamReader

    for each in (OdradekDataSource, BatchReader, StreamReader, InvalidOptionsReader, BatchWriter, StreamWriter):
        assert type(each) is portable.Portable


def test_a_package_that_fails_to_import_is_told_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "half_installed.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("SPARK_HIDE_TRACEBACK", raising=False)
    with pytest.raises(
        ModuleNotFoundError, match=r"cannot import odradek: No module named 'no_such_dependency'; start"
    ):
        load_class("half_installed", "Anything")
    assert os.environ.pop("SPARK_HIDE_TRACEBACK") == "1"


def test_a_zip_in_a_directory_of_the_path_is_found(tmp_path: Path) -> None:
    """In a process that has nothing: the function brings all that it needs."""
    with zipfile.ZipFile(tmp_path / "odradek-spark.zip", "w") as archive:
        archive.writestr("odradek/__init__.py", "")
        archive.writestr("odradek/thing.py", "class Thing: pass\n")
    source = Path(portable.__file__).read_text()
    function = source[source.index("def load_class") : source.index("def _reduce")]
    script = f"from typing import Any\nimport sys\nsys.path.append({str(tmp_path)!r})\n{function}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"{script}\nprint(load_class('odradek.thing', 'Thing'))"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "<class 'odradek.thing.Thing'>\n", done.stderr


def test_an_installation_that_cannot_be_imported_is_a_source_that_says_so() -> None:
    from pyspark_odradek.broken import broken_source

    source = broken_source("No module named 'crc32c'")
    assert source.name() == "odradek"
    with pytest.raises(
        ImportError, match=r"cannot be imported there: No module named 'crc32c'; run `.* -m pip install"
    ):
        source({})
    os.environ.pop("SPARK_HIDE_TRACEBACK", None)
