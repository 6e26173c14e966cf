"""Odradek for Spark, in one file for `--py-files`.

Python imports this module from the archive as `odradek`. Extension modules cannot be loaded from an archive, so it
unpacks the packages into a directory beside the archive, once for all processes on the machine, and continues as the
module `odradek` of that directory. Written by `odradek spark package`; the constants in capitals are filled in there.
"""

import os
import shutil
import sys
import sysconfig
import tempfile
import zipfile

#: The Python for which the packages in this file were built, and the contents of the file.
ABI = "@ABI@"
DIGEST = "@DIGEST@"
PACKAGES = "packages/"


def _unpacked(archive: str) -> str:
    """Return the directory with the packages; the first process creates it."""
    beside = os.path.join(os.path.dirname(os.path.abspath(archive)), f"odradek-spark-{DIGEST}")
    if os.path.isdir(beside):
        return beside
    try:
        temporary = tempfile.mkdtemp(prefix=".odradek-spark-", dir=os.path.dirname(beside))
    except OSError:  # not a directory that this process may write to
        import atexit

        temporary = tempfile.mkdtemp(prefix="odradek-spark-")
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        _unpack(archive, temporary)
        return temporary
    _unpack(archive, temporary)
    os.chmod(temporary, 0o755)
    try:
        os.rename(temporary, beside)
    except OSError:  # another process was first
        shutil.rmtree(temporary, ignore_errors=True)
    return beside


def _unpack(archive: str, directory: str) -> None:
    with zipfile.ZipFile(archive) as packed:
        for name in packed.namelist():
            if name.startswith(PACKAGES):
                target = os.path.join(directory, *name[len(PACKAGES) :].split("/"))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with packed.open(name) as source, open(target, "wb") as stream:
                    shutil.copyfileobj(source, stream)


def _become(archive: str) -> None:
    """Continue as the unpacked package of the same name."""
    abi = str(sysconfig.get_config_var("SOABI"))
    if abi != ABI:
        raise ImportError(
            f"{os.path.basename(archive)} was written for {ABI}, and this Python is {abi}; "
            "run `odradek spark package` with the Python version and on the kind of machine that the executors have"
        )
    directory = _unpacked(archive)
    if directory not in sys.path:
        sys.path.insert(sys.path.index(archive) if archive in sys.path else 1, directory)
    own = os.path.join(directory, "odradek")
    file = os.path.join(own, "__init__.py")
    globals().update(__path__=[own], __file__=file)
    if __spec__ is not None:
        __spec__.submodule_search_locations = [own]
    with open(file, "rb") as stream:
        exec(compile(stream.read(), file, "exec"), globals())


if __name__ == "odradek":
    _become(globals()["__loader__"].archive)
