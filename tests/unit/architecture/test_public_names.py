"""What users may import: the names in `__all__` of five modules, and nothing else of the package.

The documentation, the examples and the demo import only these. A name that is added or removed here is a change of the
public API: it belongs into the changelog.
"""

import ast
import importlib
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek import errors
from odradek.common.failures import ApiError

ROOT = Path(__file__).parents[3]

PUBLIC: dict[str, tuple[str, ...]] = {
    "odradek.client": (
        *("Admin", "AdminSettings", "Consumer", "ConsumerSettings", "Producer", "ProducerSettings", "blocking"),
        # Admin client: arguments and results
        *("ConfigChange", "ConfigEntry", "ConfigOp", "ConfigResource", "ConfigResourceType", "CreatedTopic"),
        *("ElectionType", "FeatureUpdate", "Features", "GroupDescription", "GroupListing", "GroupMember"),
        *("HIGH_WATERMARK", "LogDir", "MemberToRemove", "NewTopic", "NodesDescription", "OffsetAndTimestamp"),
        *("OffsetSpec", "ProducerIdAndEpoch", "ProducerState", "QuorumDescription", "QuotaEntity", "QuotaFilter"),
        *("Reassignment", "Replica", "ScramCredential", "TopicDescription", "TopicListing", "TransactionDescription"),
        *("TransactionListing", "UpgradeType", "VoterEndpoint"),
        # Consumer and producer
        *("Assignor", "BatchDelivery", "ConsumerRecord", "Delivery", "Deserializer", "GroupMetadata"),
        *("OffsetAndMetadata", "OutgoingRecord", "Partitioner", "RebalanceListener", "RecordColumns"),
        *("RecordMetadata", "RecordRange", "Serializer", "TopicPartition"),
        *("InputError", "KafkaError"),
    ),
    "odradek.client.blocking": ("Admin", "Consumer", "Producer"),
    "odradek.errors": (
        *("BatchLost", "BatchTorn", "BufferExhausted", "CommitFailed", "DataLost", "DeliveryTimedOut"),
        *("DeserializationFailed", "Disconnected", "ErrorCode", "Fault", "FetchFailed", "GroupInUse", "InputError"),
        *("KafkaError", "LogTruncation", "MissingExtra", "NoGroup", "NoLeader", "NoOffsetForPartition"),
        *("OffsetOutOfRange", "OffsetsDeleted", "PartlyRefused", "ProducerClosed", "ProducerFailed"),
        *("ProducerFenced", "RebalanceInProgress", "RecordTooLarge", "Refused", "RequestTimedOut", "Superseded"),
        *("TooManyAbandoned", "TopicAuthorizationFailed", "TopicReplaced", "TransactionAborted"),
        *("TransactionMustAbort", "UnknownTopic", "Unreachable", "VersionsDiffer", "WrongEndpoint"),
        "WrongTransactionState",
    ),
    "odradek.service": (
        *("AvroCodec", "BatchEnd", "BatchResult", "CeleryBridge", "Codec", "Context", "Done", "MemoryDone", "Order"),
        *("Reject", "Retries", "Send", "Service", "SqliteDone", "Undecodable", "consume_task"),
    ),
    "odradek.spark": ("Reason", "accepted", "formats", "guarded", "register", "rejected", "start_stream"),
    "odradek.testing": ("Cluster", "HostedNode"),
}

#: File -> modules of the package that it may import although they are not public, with the reason.
INTERNAL = {
    # Describes the log itself, with a program that reads one.
    "docs/log.md": (
        *("odradek.common.files", "odradek.common.system_clock", "odradek.log.recovery.log_loader"),
        *("odradek.records.batch", "odradek.records.builder"),
    ),
    # The report of the demo is drawn by the report of pipelines.
    **dict.fromkeys(
        ("demo/findings.py", "demo/measures.py", "demo/plan.py", "demo/report.py", "demo/run.py"),
        ("odradek.spark.pipeline.report",),
    ),
}

_PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def sources() -> list[Path]:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    return sorted([*pages, *(ROOT / "examples").rglob("*.py"), *(ROOT / "demo").rglob("*.py")])


def imports(source: str) -> Iterator[tuple[str, str]]:
    """Yield the module and the name of every import of the package; the name is empty for `import module`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("odradek"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("odradek"):
            yield from ((node.module or "", alias.name) for alias in node.names)


def not_public(source: str, internal: tuple[str, ...] = ()) -> list[str]:
    """Return the imports of the source that are neither public nor below a module of `internal`."""
    return [
        f"{module}: {name}"
        for module, name in imports(source)
        if (module == "odradek.client.blocking" or name not in PUBLIC.get(module, ()))
        and not any(f"{module}.".startswith(f"{allowed}.") for allowed in internal)
    ]


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_documentation_and_examples_import_only_public_names(path: Path) -> None:
    text = path.read_text()
    programs = _PYTHON_BLOCK.findall(text.replace("…", "...")) if path.suffix == ".md" else [text]
    internal = INTERNAL.get(str(path.relative_to(ROOT)), ())
    assert [name for program in programs for name in not_public(program, internal)] == []


@pytest.mark.parametrize("module", PUBLIC)
def test_public_modules_export_the_listed_names(module: str) -> None:
    exporting = importlib.import_module(module)
    assert sorted(exporting.__all__) == sorted(PUBLIC[module])
    assert [name for name in PUBLIC[module] if not hasattr(exporting, name)] == []


def test_public_exceptions_show_their_public_names() -> None:
    exceptions = {
        name: value
        for name in errors.__all__
        if isinstance(value := getattr(errors, name), type) and issubclass(value, Exception)
    }
    shown = {name: f"{value.__module__}.{value.__qualname__}" for name, value in exceptions.items()}
    del shown["KafkaError"]  # never raised itself
    assert shown == {name: f"odradek.errors.{name}" for name in shown}


def test_every_error_about_the_cluster_is_a_kafka_error() -> None:
    others = [
        name
        for name in errors.__all__
        if isinstance(value := getattr(errors, name), type)
        and issubclass(value, Exception)
        and not issubclass(value, errors.KafkaError)
    ]
    assert errors.KafkaError is ApiError
    assert others == ["Fault", "InputError", "MissingExtra"]


@pytest.mark.parametrize("error", [errors.InputError("wrong"), errors.Unreachable("none"), errors.Fault("broken")])
def test_exceptions_cross_processes(error: Exception) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and str(copy) == str(error)


@pytest.mark.parametrize(
    ("source", "internal", "expected"),
    [
        ("from odradek.client import Admin, NewTopic", (), []),
        ("from odradek.client.admin.admin import Admin", (), ["odradek.client.admin.admin: Admin"]),
        ("from odradek.client.blocking import Admin", (), ["odradek.client.blocking: Admin"]),
        ("def f():\n    from odradek.client import check_error", (), ["odradek.client: check_error"]),
        ("import odradek.client", (), ["odradek.client: "]),
        ("from odradek.log.segments import segment", ("odradek.log",), []),
    ],
)
def test_the_guard_itself(source: str, internal: tuple[str, ...], expected: list[str]) -> None:
    assert not_public(source, internal) == expected
