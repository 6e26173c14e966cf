"""Frames that are nearly right, and sizes that are not, against a listener in a process of its own."""

import os
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from odradek.protocol.api_keys import ApiKey, ListenerRole, accepted_versions
from odradek.protocol.codec import encode
from odradek.protocol.framing import FRAME_BYTES_MAX, LENGTH_BYTES, UNAUTHENTICATED_FRAME_BYTES_MAX
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.requests import request_header_version
from support.figures import report
from support.fuzzing.protocol_fuzz import streams
from support.processes.network_server import Watched, answer_to, connect, first_answer, serving

FRAMES = int(os.environ.get("ODRADEK_SOCKET_FRAMES", "10000"))
FRAMES_BETWEEN_CHECKS = 100

GROWTH_BYTES_MAX = 10 * 1024 * 1024


@pytest.mark.slow
@pytest.mark.parametrize("listener", ["broker", "controller"])
def test_mutated_frames_over_a_socket(listener: str, tmp_path: Path) -> None:
    with serving(tmp_path, listener=listener) as server:
        assert server.answers()
        answered = checked = 0
        before_bytes, before = server.resident_bytes(), server.descriptors()
        for number, stream in enumerate(streams(2026, FRAMES // 2, FRAME_BYTES_MAX), 1):
            answered += len(answer_to(server.port, stream)) > LENGTH_BYTES
            if number % FRAMES_BETWEEN_CHECKS == 0:
                assert server.answers(), f"after frame {number}"
                checked += 1
        server.until(lambda: server.descriptors() <= before, "all connections are closed")
        server.check_log()
        grown = server.resident_bytes() - before_bytes
    report(
        "mutated frames over a socket",
        listener=listener,
        frames=FRAMES // 2,
        answered=answered,
        checks_of_a_good_client=checked,
        memory_growth_kib=grown // 1024,
    )
    assert answered and grown < GROWTH_BYTES_MAX


def test_lengths_that_cannot_be_are_refused_before_anything_is_held(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        before = warm(server)
        for length in (-1, 0, FRAME_BYTES_MAX + 1, 2**31 - 1, -(2**31)):
            for _ in range(20):
                assert first_answer(server.port, struct.pack(">i", length) + bytes(100_000)) == b""
                assert server.resident_bytes() - before < GROWTH_BYTES_MAX
        assert server.answers()
        server.check_log()


def test_before_authentication_frames_are_small(tmp_path: Path) -> None:
    with serving(tmp_path, security_protocol="SASL_PLAINTEXT") as server:
        before = warm(server)
        for length in (UNAUTHENTICATED_FRAME_BYTES_MAX + 1, FRAME_BYTES_MAX):
            assert first_answer(server.port, struct.pack(">i", length) + bytes(100_000)) == b""
        assert server.answers()
        assert server.resident_bytes() - before < GROWTH_BYTES_MAX
        server.check_log()


def test_a_length_is_a_promise_for_which_nothing_is_held(tmp_path: Path) -> None:
    """Two hundred peers announce the largest frame that is allowed, 20 GiB together, and send little of it."""
    with serving(tmp_path) as server, ExitStack() as opened:
        before = warm(server)
        for _ in range(200):
            connection = opened.enter_context(connect(server.port))
            connection.sendall(struct.pack(">i", FRAME_BYTES_MAX) + bytes(1_000))
        server.until(lambda: server.descriptors() > 200, "all are connected")
        assert server.answers()
        grown = server.resident_bytes() - before
    report("announced sizes", announced_gib=200 * FRAME_BYTES_MAX // 2**30, memory_growth_kib=grown // 1024)
    assert grown < GROWTH_BYTES_MAX


def test_counts_beyond_the_frame_are_refused_before_anything_is_held(tmp_path: Path) -> None:
    refused = peak = 0
    with serving(tmp_path) as server:
        before = warm(server)
        for request in greedy_requests():
            refused += first_answer(server.port, request) == b""
            peak = max(peak, server.resident_bytes() - before)
        assert server.answers()
        server.check_log()
    report("counts beyond the frame", requests=refused, memory_growth_kib=peak // 1024)
    assert refused == len(list(greedy_requests()))
    assert peak < GROWTH_BYTES_MAX


#: Counts of two thousand million and of a few more than there are bytes; varints likewise, and varints without end.
GREEDY_NUMBERS = (b"\x7f\xff\xff\xff" * 4, b"\x00\x00\x00\x40" + bytes(16))
GREEDY_VARINTS = (
    b"\xff\xff\xff\xff\x07" * 4,
    b"\xff\xff\xff\xff\x0f" * 4,
    b"\xff" * 20,
    b"\x80" * 20,
    b"\x40" + bytes(16),
)


def greedy_requests() -> Iterator[bytes]:
    """Metadata and DeleteTopics begin with an array in every version, and so are never right with these."""
    accepted = accepted_versions(ListenerRole.BROKER)
    for key in (ApiKey.METADATA, ApiKey.DELETE_TOPICS):
        for version in range(accepted[key].first, accepted[key].last + 1):
            header = RequestHeader(request_api_key=key, request_api_version=version, client_id="greedy")
            header_version = request_header_version(key, version)
            head = encode(header, header_version)
            for body in GREEDY_VARINTS if header_version == 2 else GREEDY_NUMBERS:
                yield struct.pack(">i", len(head) + len(body)) + head + body


def warm(server: Watched) -> int:
    """Memory of a listener that has served everything once."""
    for _ in range(50):
        assert server.answers()
    first_answer(server.port, b"\xff\xff\xff\xff")
    return server.resident_bytes()
