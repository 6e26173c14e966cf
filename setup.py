"""The build step that pyproject.toml cannot express: the hot modules are compiled with mypyc into the wheel.

Without a C compiler or Python's headers the wheel is pure Python, and `odradek --version` says that it is slower.
Whatever else goes wrong while compiling fails the build. ODRADEK_PURE_PYTHON=1 asks for a pure wheel.
"""

import shutil
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

# A build backend does not have the project's directory on its path.
sys.path.insert(0, str(Path(__file__).resolve().parent / "tools"))
import compile_hot  # puts src on the path
from odradek.common.hot_modules import HOT_MODULES


class CleanBuild(build):
    """Starts from an empty directory: setuptools would pack whatever an earlier build left in it, for example modules
    that no longer exist and extension modules of another Python."""

    def run(self) -> None:
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class CompileHotModules(build_ext):
    def run(self) -> None:
        if self.inplace or self.editable_mode:
            compile_hot.update_in_place()
        else:
            compile_hot.compile_modules(HOT_MODULES, Path(self.build_lib))


def extensions() -> list[Extension]:
    """Return what `CompileHotModules` will write. With any, setuptools tags the wheel for this Python and platform."""
    reason = compile_hot.reason_not_to_compile()
    if reason is not None:
        print(f"odradek: the hot modules stay plain Python, several times slower: {reason}")
        return []
    names = (name for module in HOT_MODULES for name in compile_hot.extension_names(module))
    return [Extension(name, sources=[]) for name in names]


setup(ext_modules=extensions(), cmdclass={"build": CleanBuild, "build_ext": CompileHotModules})
