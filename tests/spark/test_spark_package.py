"""The files of `odradek spark package` on a machine without Odradek: imported, and started, from elsewhere."""

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from pyspark.serializers import CPickleSerializer

from odradek.spark.deploy.distributions import executor_files
from odradek.spark.deploy.environment import write_environment
from odradek.spark.source import OdradekDataSource
from odradek.spark.source.batch_reader import BatchReader
from support.spark.cluster import SPARK_HOME, machine_environment, machine_python

pytestmark = pytest.mark.slow

ODRADEK = str(Path(sys.executable).parent / "odradek")

#: As a Python process of Spark begins: PySpark comes from Spark's own archive.
PYSPARK = os.pathsep.join(map(str, sorted((SPARK_HOME / "python" / "lib").glob("*.zip"))))

LOAD = """\
import os, sys
from pyspark.serializers import CPickleSerializer
sys.path[1:1] = sys.argv[2:]
with open(sys.argv[1], "rb") as stream:
    loaded = CPickleSerializer().loads(stream.read())
from odradek.common.hot_modules import plain_modules
import odradek
print(loaded.name(), plain_modules(), odradek.__file__)
"""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return machine_python(tmp_path_factory.mktemp("machine"))


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the files of `--py-files`."""
    directory = tmp_path_factory.mktemp("package")
    made = json.loads(odradek("spark", "package", "-o", str(directory), "--only", "py-files", "--format", "json"))
    (way,) = made["ways"]
    assert way["options"] == ["--py-files", f"{directory}/odradek-spark.zip,{directory}/pyspark_odradek.py"]
    return directory


def odradek(*arguments: str) -> str:
    return subprocess.run([ODRADEK, *arguments], check=True, capture_output=True, text=True).stdout


def load_on(machine: Path, directory: Path, *paths: Path) -> "subprocess.CompletedProcess[str]":
    """Load the data source there, as Spark sends it, with more directories on the path."""
    pickled = directory / "pickled"
    pickled.write_bytes(CPickleSerializer().dumps(OdradekDataSource))
    return subprocess.run(
        [str(machine), "-c", LOAD, str(pickled), *map(str, paths)],
        env=machine_environment(machine, {"PYTHONPATH": PYSPARK}),
        cwd=directory,
        capture_output=True,
        text=True,
    )


def test_the_source_loads_itself_from_a_zip_that_lies_in_a_directory_of_the_path(
    machine: Path, package: Path, tmp_path: Path
) -> None:
    """It is where `--py-files` puts it, and Spark has not put it on the path. What is compiled stays so."""
    sent = tmp_path / "userFiles"
    sent.mkdir()
    (sent / "odradek-spark.zip").write_bytes((package / "odradek-spark.zip").read_bytes())
    for _ in range(2):  # the second process finds it unpacked
        done = load_on(machine, tmp_path, sent)
        assert re.fullmatch(rf"odradek \[\] {sent}/odradek-spark-\w+/odradek/__init__\.py\n", done.stdout), done.stderr
    assert sorted(path.name[:14] for path in sent.iterdir()) == ["odradek-spark-", "odradek-spark."]


def test_a_machine_without_the_package_says_what_to_do_in_one_sentence(machine: Path, tmp_path: Path) -> None:
    done = load_on(machine, tmp_path)
    assert done.stderr.splitlines()[-1].startswith("ModuleNotFoundError: odradek is not installed in the Python of")
    assert "start the job with one of the options that `odradek spark package` prints" in done.stderr.splitlines()[-1]


def test_a_zip_for_another_python_says_so(machine: Path, package: Path, tmp_path: Path) -> None:
    with (
        zipfile.ZipFile(package / "odradek-spark.zip") as source,
        zipfile.ZipFile(tmp_path / "odradek-spark.zip", "w") as target,
    ):
        for name in source.namelist():
            content = source.read(name)
            if name == "odradek/__init__.py":
                content = re.sub(rb'ABI = "[^"]*"', b'ABI = "cpython-399-sparc"', content)
            target.writestr(name, content)
    last = load_on(machine, tmp_path, tmp_path).stderr.splitlines()[-1]
    assert "odradek-spark.zip was written for cpython-399-sparc, and this Python is" in last
    assert "run `odradek spark package` with the Python version" in last


def test_a_machine_that_lacks_a_dependency_names_it(package: Path, tmp_path: Path) -> None:
    bare = machine_python(tmp_path / "bare", packages=("pyarrow", "pandas", "python-dateutil", "pytz", "six"))
    last = load_on(bare, tmp_path, package).stderr.splitlines()[-1]
    assert "cannot import odradek" in last and "numpy" in last and "odradek spark package" in last


def test_what_spark_sends_is_the_same_class_where_the_package_is_installed() -> None:
    serializer = CPickleSerializer()
    assert serializer.loads(serializer.dumps(OdradekDataSource)) is OdradekDataSource
    assert serializer.loads(serializer.dumps(BatchReader)) is BatchReader


def unpacked(archive: Path, directory: Path) -> Path:
    with tarfile.open(archive) as packed:
        if sys.version_info >= (3, 11, 4):  # older ones trust each archive
            packed.extractall(directory, filter="fully_trusted")
        else:
            packed.extractall(directory)
    return directory


def test_an_environment_works_wherever_it_is_unpacked(tmp_path: Path) -> None:
    """Also on a machine without Python: none of its PATH is found."""
    odradek("spark", "package", "-o", str(tmp_path), "--only", "archive")
    unpacked(tmp_path / "odradek-environment.tar.gz", tmp_path / "environment")
    script = (
        "import sys, ssl, ctypes, sqlite3, bz2, lzma, numpy, pandas, pyarrow, pyspark, odradek.spark.source as source;"
        "from odradek.common.hot_modules import plain_modules;"
        "print(sys.executable, plain_modules(), source.__file__)"
    )
    done = subprocess.run(
        ["environment/bin/python3", "-c", script],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    executable, modules, source = done.stdout.split()
    assert modules == "[]" and source.startswith(f"{tmp_path}/environment/packages/odradek/"), done.stderr
    assert executable.startswith(f"{tmp_path}/environment/python/bin/python")


def test_an_environment_without_an_interpreter_takes_the_machine_s(machine: Path, tmp_path: Path) -> None:
    write_environment(tmp_path / "e.tar.gz", executor_files(), interpreter=False)
    launcher = unpacked(tmp_path / "e.tar.gz", tmp_path / "environment") / "bin" / "python"
    environment = machine_environment(machine, {"PYTHONPATH": PYSPARK})
    script = "import sys, odradek.spark.source as source; print(sys.executable, source.__file__)"
    done = subprocess.run([str(launcher), "-c", script], env=environment, capture_output=True, text=True)
    executable, source = done.stdout.split()
    assert executable.startswith(f"{machine.parent}/python"), done.stderr
    assert source == f"{tmp_path}/environment/packages/odradek/spark/source/__init__.py"


def test_an_environment_without_an_interpreter_names_the_one_that_is_missing(tmp_path: Path) -> None:
    write_environment(tmp_path / "e.tar.gz", [], interpreter=False)
    launcher = unpacked(tmp_path / "e.tar.gz", tmp_path) / "bin" / "python"
    launcher.write_text(launcher.read_text().replace(f"{sys.version_info.major}.{sys.version_info.minor}", "3.99"))
    done = subprocess.run([str(launcher)], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert done.returncode == 127 and "there is no Python 3.99 on " in done.stderr
