"""Recognizing a peer that speaks another protocol than Kafka's.

Most of them are met by people who have mistaken a port or a setting: a web browser or a health check that asks a broker
over HTTP, a client that begins a TLS handshake on a listener without TLS, a web server where a broker was expected.
"""

from odradek.common.ports import Buffer

HTTP, SSH, TLS = "HTTP", "SSH", "TLS"

#: The beginnings of requests and answers. Of HTTP requests four bytes are enough, as many as the length of a frame has;
#: `PRI` begins HTTP/2. TLS begins with an alert or a handshake record.
_BEGINNINGS = (
    *((method, HTTP) for method in (b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI", b"DELE", b"PATC", b"CONN", b"PRI ")),
    (b"HTTP", HTTP),
    (b"SSH-", SSH),
    (b"\x15\x03", TLS),
    (b"\x16\x03", TLS),
)


def other_protocol(received: Buffer) -> str | None:
    """Return the protocol that the peer speaks instead of Kafka's, if the first bytes show it."""
    start = bytes(received[:8])
    return next((name for beginning, name in _BEGINNINGS if start.startswith(beginning)), None)
