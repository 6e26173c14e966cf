"""The file for `--py-files`: Odradek with the packages that its tasks need in addition to those of PySpark.

`odradek/__init__.py` in it unpacks the rest (see `odradek.spark.deploy.zip_entry`); `pyspark_odradek` is the package by
which Spark finds the data source where the file is on Python's path.
"""

import hashlib
import re
import sysconfig
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from odradek.common.failures import check
from odradek.spark.deploy.distributions import PackagedFile

ZIP_NAME = "odradek-spark.zip"

#: Makes Spark find the data source on a driver on which Odradek is not installed: files of `--py-files` that end with
#: .py are on its path, archives are not.
FINDER_NAME = "pyspark_odradek.py"

_PACKAGES = "packages/"
_DIGEST_LENGTH = 12

#: The earliest time of a zip entry: equal contents give an equal file.
_EPOCH = (1980, 1, 1, 0, 0, 0)

_FINDER = f'''\
"""Lets Spark find the data source `odradek` in {ZIP_NAME}, which lies beside this file.
Written by `odradek spark package`."""

import os
import sys

_ARCHIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "{ZIP_NAME}")
if os.path.exists(_ARCHIVE) and _ARCHIVE not in sys.path:
    sys.path.insert(1, _ARCHIVE)

from odradek.spark.source import OdradekDataSource as DefaultSource

__all__ = ["DefaultSource"]
'''


def write_zip(path: Path, files: Sequence[PackagedFile]) -> None:
    included = [file for file in files if "__pycache__" not in file.name]
    digest = hashlib.sha256()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in included:
            content = file.source.read_bytes()
            digest.update(f"{file.name} {len(content)} ".encode() + content)
            _add(archive, _PACKAGES + file.name, content)
        _add(archive, "odradek/__init__.py", _entry(digest.hexdigest()[:_DIGEST_LENGTH]))
        finder = next(file for file in included if file.name == "pyspark_odradek/__init__.py")
        _add(archive, finder.name, finder.source.read_bytes())


def write_finder(path: Path) -> None:
    path.write_text(_FINDER)


def _entry(digest: str) -> bytes:
    spec = find_spec("odradek.spark.deploy.zip_entry")
    check(spec is not None and spec.origin is not None, "the module that unpacks the archive has a source")
    text = Path(str(spec.origin if spec else "")).read_text()
    values = {"@ABI@": str(sysconfig.get_config_var("SOABI")), "@DIGEST@": digest}
    return re.sub("|".join(values), lambda match: values[match[0]], text).encode()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)
