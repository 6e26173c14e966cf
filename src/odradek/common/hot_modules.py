"""The modules that are compiled with mypyc, and whether this installation has them compiled.

Each has an extension module beside its source, which Python prefers. Installing compiles them (`setup.py`), and in a
working copy `tools/compile_hot.py` does; both take the list from here. Without them the plain modules do the same,
several times slower, so the command and the node say which ones are in use.

Looks for files and imports none of the modules: `odradek --version` must answer at once.
"""

import importlib.machinery
import os
from collections.abc import Sequence

HOT_MODULES = (
    "odradek.records.batch_walk",
    "odradek.records.decode",
    "odradek.records.record_packer",
    "odradek.client.producer.murmur2",
    "odradek.client.consumer.record",
)

_REMEDY = "several times slower; install a C compiler and Python's headers, and reinstall"


def plain_modules(modules: Sequence[str] = HOT_MODULES, root: str | None = None) -> list[str]:
    """Return the modules that Python would load from source. `root` is the directory that the package lies in."""
    if root is None:
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return [module for module in modules if not _is_compiled(os.path.join(root, *module.split(".")))]


def describe(plain: Sequence[str]) -> str:
    """Return one line for the user: whether the hot modules are compiled, and what to do if they are not."""
    if not plain:
        return "hot modules: compiled"
    if len(plain) == len(HOT_MODULES):
        return f"hot modules: plain Python, {_REMEDY}"
    return f"hot modules: partly compiled, {', '.join(plain)} plain Python, {_REMEDY}"


def _is_compiled(stem: str) -> bool:
    return any(os.path.exists(stem + suffix) for suffix in importlib.machinery.EXTENSION_SUFFIXES)
