"""Fuzzing led by coverage: atheris looks for bytes that reach new code in the codec and the record readers.

`make soak` runs it: `python tests/fuzz/guided.py TARGET [libFuzzer options]`. It starts from Kafka's own messages, or
from batches of every codec. The contract is that of the other fuzz tests: a value, or the one kind of error that
malformed bytes are to give. Anything else is a crash, and its input is left in a file named crash-*.
"""

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "src")]

with atheris.instrument_imports(include=["odradek"]):
    from odradek.common.failures import ApiError, ProtocolError
    from odradek.protocol.api_keys import ListenerRole, accepted_versions
    from odradek.protocol.requests import parse_request
    from odradek.records.batch import Compression, read_batches
    from odradek.records.columns.record_columns import read_columns

from support.builders.logs import batch  # noqa: E402
from support.fuzzing.protocol_fuzz import seeds  # noqa: E402

ACCEPTED = [accepted_versions(ListenerRole.BROKER), accepted_versions(ListenerRole.CONTROLLER)]
#: Small, so that a bomb shows as soon as the bound is passed.
EXPANDED_BYTES_MAX = 1 << 20


def frames(data: bytes) -> None:
    for accepted in ACCEPTED:
        try:
            parse_request(data, accepted)
        except ProtocolError:
            continue


def records(data: bytes) -> None:
    try:
        for batch in read_batches(data):
            for _ in batch.records(EXPANDED_BYTES_MAX):
                pass
        read_columns(data, check=False, limit_bytes=EXPANDED_BYTES_MAX)
    except ApiError:
        return


def record_seeds() -> Iterable[bytes]:
    return (batch("one", "two" * 50, compression=codec) for codec in Compression)


TARGETS = {"frames": (frames, seeds), "records": (records, record_seeds)}


def main(target: str, *options: str) -> None:
    check, start = TARGETS[target]
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(start()):
            Path(corpus, str(number)).write_bytes(seed)
        atheris.Setup([sys.argv[0], corpus, *options], check)
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
