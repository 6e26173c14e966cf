"""The types of settings, keys and values, as a type checker sees them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.client import AdminSettings, ConsumerSettings, ProducerSettings
from odradek.client.settings.parsing import Kind, definitions, keyword
from tools.make_typed_settings import TYPED_DICTS, typed_dicts

SOURCE = Path(__file__).parents[4] / "src"

#: Every line with a comment must be rejected, with a message that has the text of the comment; the others accepted.
PROGRAM = """\
from odradek.client import Admin, Consumer, Producer, blocking


async def run() -> None:
    Producer(linger_ms=4, acks="all", bootstrap_servers=["a:9092"], transactional_id=None)
    Producer({"linger.ms": "4"})
    Producer(linger_msss=4)  # Unexpected keyword argument "linger_msss" for "Producer"; did you mean "linger_ms"?
    Producer(linger_ms="4")  # expected "int"
    Producer(acks="some")  # expected "Literal['all', '-1', '0', '1', -1, 0, 1]"
    Consumer("orders", group_id="billing", max_poll_records=10)
    Consumer("orders", max_poll_recods=10)  # Unexpected keyword argument "max_poll_recods"
    Consumer("orders", ssl_keystore_location="a")  # Unexpected keyword argument "ssl_keystore_location"
    Admin(bootstrap_servers="a:9092", retries=1)
    Admin(linger_ms=1)  # Unexpected keyword argument "linger_ms"
    blocking.Producer(linger_msss=4)  # Unexpected keyword argument "linger_msss"
    blocking.Consumer(group_id=4)  # expected "str | None"
    blocking.Admin(retries="1")  # expected "int"

    texts = Producer(value_serializer=str.encode)
    await texts.send("orders", "tea", key=b"anna")
    await texts.send("orders", 4)  # incompatible type "int"; expected "str | None"
    blocking.Producer(key_serializer=str.encode).send("orders", b"", key=4)  # expected "str | None"
    anything = Producer(linger_ms=4)
    await anything.send("orders", b"tea")
    keyed: Producer[str, bytes] = Producer({"key.serializer": "StringSerializer"})
    await keyed.send("orders", "tea")  # incompatible type "str"; expected "bytes | None"

    for record in await Consumer("orders", value_deserializer=bytes.decode).poll():
        number: int = record.value  # expression has type "str | Any", variable has type "int"
    for same in blocking.Consumer("orders", value_deserializer=bytes.decode):
        same.value.uper()  # Item "str" of "str | Any" has no attribute "uper"
"""


def test_the_generated_file_is_current() -> None:
    assert TYPED_DICTS.read_text() == typed_dicts(), "run tools/make_typed_settings.py"


@pytest.mark.parametrize(
    ("kind", "settings"),
    [(Kind.PRODUCER, ProducerSettings), (Kind.CONSUMER, ConsumerSettings), (Kind.ADMIN, AdminSettings)],
)
def test_keywords_are_names_of_settings(kind: Kind, settings: type) -> None:
    names = {keyword(name) for name in definitions(kind)}
    assert set(settings.__annotations__) - names <= {"partitioner"}


def test_a_type_checker_rejects_wrong_settings_keys_and_values(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    checked = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary"),
            *("--config-file=", f"--cache-dir={SOURCE.parent / '.mypy_cache' / 'settings'}", str(program)),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "MYPYPATH": str(SOURCE)},
        check=False,
    )
    errors = {
        int(line): message
        for line, message in re.findall(r"program\.py:(\d+): error: (.*)", checked.stdout, re.MULTILINE)
    }
    expected = {
        number: line.split("  # ")[1] for number, line in enumerate(PROGRAM.splitlines(), start=1) if "  # " in line
    }
    assert sorted(errors) == sorted(expected), checked.stdout + checked.stderr
    assert [number for number, text in expected.items() if text not in errors[number]] == [], checked.stdout
