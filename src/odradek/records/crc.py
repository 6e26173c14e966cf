"""CRC-32C, by the package `crc32c`, of which only the extension module is loaded.

The package itself also loads its command line and looks up its own version: some forty modules, and a tenth of the time
that a node takes to start.
"""

from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING


def _extension() -> ModuleType:
    package = PathFinder.find_spec("crc32c")
    search_locations = None if package is None else package.submodule_search_locations
    spec = PathFinder.find_spec("crc32c._crc32c", search_locations)
    if spec is None or spec.loader is None:
        raise ImportError("the package crc32c is not installed, or not as it is known here: it has no _crc32c")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    from crc32c import crc32c as crc32c
else:
    crc32c = _extension().crc32c
