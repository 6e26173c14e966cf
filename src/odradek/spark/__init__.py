"""The data source and sink `odradek` for PySpark, formats of values, dead letters. Only this package imports PySpark.

`register` makes the source known to a session, `start_stream` starts a query. `formats` has functions that decode and
encode values; `accepted`, `rejected` and `guarded` separate the rows that could not be processed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from odradek.spark.registration import register
from odradek.spark.starting import start_stream

if TYPE_CHECKING:
    from odradek.common.dead_letter_headers import Reason
    from odradek.spark import formats
    from odradek.spark.dead_letters import accepted, guarded, rejected

__all__ = ["Reason", "accepted", "formats", "guarded", "register", "rejected", "start_stream"]

#: Imported when they are first used: they need PySpark, which a command may have to do without.
_MODULES = {
    "Reason": "odradek.common.dead_letter_headers",
    "accepted": "odradek.spark.dead_letters",
    "guarded": "odradek.spark.dead_letters",
    "rejected": "odradek.spark.dead_letters",
}

if not TYPE_CHECKING:  # or a misspelt name would be accepted as Any

    def __getattr__(name: str) -> Any:
        if name == "formats":
            return import_module("odradek.spark.formats")
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)
