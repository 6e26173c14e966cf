"""Optional dependencies: the package's extras, and the error when one is needed and not installed."""

from importlib.util import find_spec

from odradek.common.failures import InputError

#: By extra: the package that its users know it by, and the modules that must be there.
_EXTRAS = {
    "arrow": ("pyarrow", ("pyarrow",)),
    "avro": ("fastavro", ("fastavro",)),
    "service": ("msgspec", ("msgspec",)),
    "spark": ("PySpark", ("pyspark", "pyarrow", "pandas", "grpc", "yaml")),
}


class MissingExtra(InputError, ImportError):
    """An optional dependency is not installed. Also an ImportError, since modules that need one fail to import."""

    __module__ = "odradek.errors"


def require_extra(extra: str, user: str) -> None:
    """Raise MissingExtra unless the modules of the extra are installed. `user` is what needs them."""
    if any(find_spec(module) is None for module in _EXTRAS[extra][1]):
        raise missing_extra(extra, user)


def missing_extra(extra: str, user: str) -> MissingExtra:
    """Return the error for a module that turned out to be missing when it was imported."""
    return MissingExtra(f"{user} needs {_EXTRAS[extra][0]}: pip install 'odradek[{extra}]'")
