"""Words for a peer that took the connection and is no node of Kafka's, or none that we can talk to.

Most of them are met by people who have mistaken a port: a web server, a listener that wants TLS.
"""

from odradek.common.ports import Buffer

#: How answers in other protocols begin; of TLS an alert, or a handshake.
_BEGINNINGS = ((b"HTTP/", "HTTP"), (b"SSH-", "SSH"), (b"\x15\x03", "TLS"), (b"\x16\x03", "TLS"))

#: Said where a peer took the connection and never answered.
MAY_BE_NO_NODE = "it may be no Kafka node, or want TLS"


def other_protocol(received: Buffer) -> str | None:
    """What the peer speaks instead of Kafka's protocol, if it can be told from how its answer begins."""
    start = bytes(received[:8])
    return next((name for beginning, name in _BEGINNINGS if start.startswith(beginning)), None)
