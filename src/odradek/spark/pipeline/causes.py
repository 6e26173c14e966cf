"""Why an update failed: the innermost message in a line or two, and whether trying again may help. Pure.

What reaches us is text: an exception of the JVM with its causes, or in it the traceback of a Python process.
"""

import re

from odradek.spark.deploy.remedies import remedy_for

_TRACEBACK = "Traceback (most recent call last):"

#: java.lang.SomeException or odradek.errors.InputError, with what follows.
_CLASS = r"(?:[A-Za-z_$][\w$]*\.)+[A-Z][\w$]*"
_RAISED = re.compile(rf"^(?:Caused by: )?\(?({_CLASS}|[A-Z]\w*(?:Error|Exception|Timeout|Interrupt))\)?:? ?(.*)$")
_STATE = re.compile(r"\s*SQLSTATE: \w{5};?\s*$")
#: Where the JVM begins to say how it got there.
_FRAMES = re.compile(r"^(\s+at |\s*JVM stacktrace:|\s+\.\.\. \d+ more)")

#: What Spark says before it comes to the point.
_PREAMBLES = (
    re.compile(r"^\(STREAM_FAILED\) "),
    re.compile(r"^\[STREAM_FAILED\] Query \[id = [^]]*\] terminated with exception: "),
    re.compile(
        r"^\[PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR\] Failed when Python streaming data source perform \w+: "
    ),
    re.compile(r"^\[PYTHON_EXCEPTION\] An exception was thrown from the Python worker: "),
    re.compile(r"^\[PYTHON_DATA_SOURCE_ERROR\] Failed to \w+ Python data source \w+: "),
    re.compile(r"^_pickle\.PicklingError: Could not serialize object: "),
    re.compile(r"^Job aborted due to stage failure: .*?\(TID \d+\) \([^)]*\): "),
)

_LENGTH_MAX = 400

#: Not what happened, but that something did.
_WRAPPERS = (
    *("SparkException", "StreamingQueryException", "RunTerminationException", "TableMaterializationException"),
    *("PythonException", "ExecutionException", "QueryExecutionException", "RuntimeException", "UnknownException"),
)

#: Nothing outside changes these: the project must.
_LASTING = (
    *("InputError", "AnalysisException", "ParseException", "NameError", "SyntaxError", "ImportError"),
    *("ModuleNotFoundError", "AttributeError", "TypeError", "KeyError", "IndexError", "PySparkTypeError"),
    *("PySparkAttributeError", "ArithmeticException", "SparkArithmeticException", "SparkNumberFormatException"),
    *("DataLost", "OffsetsDeleted", "TopicReplaced"),
    *("DeltaAnalysisException", "NoSuchMethodError", "IncompatibleClassChangeError"),
)

#: Error conditions of Spark that come without the name of an exception.
_LASTING_CONDITIONS = ("[AUTOCDC_",)


#: The catalog of tables is still held by a JVM that is about to end.
_PASSING = ("SessionHiveMetaStoreClient",)


def cause_of(text: str) -> str:
    """Return what a person needs to see of it: what to do, where that is known, or else the innermost message."""
    remedy = remedy_for(text)
    if remedy is not None:
        return remedy
    cause = _innermost(text)
    cause = _STATE.sub("", cause).strip() or text.strip().splitlines()[0] if text.strip() else "no reason was given"
    return cause if len(cause) <= _LENGTH_MAX else f"{cause[: _LENGTH_MAX - 1]}…"


def text_of(error: BaseException) -> str:
    """Return an exception of this process in the form in which Spark reports those of its own."""
    return f"{type(error).__module__}.{type(error).__name__}: {error}"


def may_pass(text: str) -> bool:
    """Return whether the same may work later: brokers come back, and processes; a wrong option stays wrong."""
    if any(mark in text for mark in _PASSING):
        return True
    if any(condition in text for condition in _LASTING_CONDITIONS):
        return False
    names = re.findall(rf"({_CLASS}|\b[A-Z]\w*(?:Error|Exception))\b", text)
    return not any(name.rpartition(".")[2] in _LASTING for name in names)


def _innermost(text: str) -> str:
    if _TRACEBACK in text:
        return _end_of_traceback(text.rpartition(_TRACEBACK)[2])
    best = ""
    for line in text.splitlines():
        if _FRAMES.match(line) or not line.strip():
            continue
        raised = _RAISED.match(line.strip())
        if raised is None:
            best = best or _unwrapped(line.strip())
            continue
        message = _unwrapped(raised[2]) if "." in raised[1] else line.strip()
        name = raised[1].rpartition(".")[2]
        if message and (name not in _WRAPPERS or not best):
            best = message
    return best


def _unwrapped(message: str) -> str:
    """A message often begins with the exception that it wraps."""
    while True:
        for preamble in _PREAMBLES:
            message = preamble.sub("", message)
        raised = _RAISED.match(message)
        if raised is None or not raised[2] or "." not in raised[1]:
            return message
        message = raised[2]


def _end_of_traceback(text: str) -> str:
    """The line that names the exception, and at most one more of its message."""
    lines = text.splitlines()
    for index, line in enumerate(lines):
        if line and not line[0].isspace():
            raised = _RAISED.match(line)
            message = raised[2] if raised is not None and raised[1].endswith("InputError") else line
            more = next((line_after.strip() for line_after in lines[index + 1 : index + 2] if line_after.strip()), "")
            return message if message or not more else more
    return text.strip().splitlines()[-1] if text.strip() else ""
