"""Frames: four bytes of length, then as many bytes.

`FrameReader` takes bytes as they come off a connection, in any pieces, and gives whole frames. It allocates for what
has arrived, or a few times that, and never for what a length promises. A length that is not positive, or beyond the
limit, raises ProtocolError as soon as its four bytes are there; the reader is of no use after that, and the connection
closes.
"""

import struct
import sys
from collections.abc import Iterable, Iterator, Sequence

from odradek.common.failures import ProtocolError
from odradek.common.ports import Buffer
from odradek.protocol.other_protocols import other_protocol

LENGTH_BYTES = 4

#: Kafka's socket.request.max.bytes: room for a fetch of many partitions or a large produce.
FRAME_BYTES_MAX = 100 * 1024 * 1024
#: Kafka's sasl.server.max.receive.size: before authentication nobody has reason to send more.
UNAUTHENTICATED_FRAME_BYTES_MAX = 512 * 1024

#: From here on the rest of a frame is received where it will stay. What is made room for is this many times what has
#: arrived: who promises much and sends little gets little, and a frame is moved once or twice while it grows.
_DIRECT_FROM_BYTES = 32 * 1024
_ROOM_FACTOR = 4

#: A larger frame than this is not kept for the next one.
_SPARE_BYTES_MAX = 8 * 1024 * 1024

#: To a frame that nobody else has: a variable, and the argument of who counts. A view of a frame refers to it.
_OWN_REFERENCES = 2

_LENGTH = struct.Struct(">i")


class OtherProtocol(ProtocolError):
    """The length of a frame is the beginning of a message in another protocol."""

    def __init__(self, protocol: str) -> None:
        super().__init__(f"this looks like {protocol}, not like the Kafka protocol")
        self.protocol = protocol


class FrameReader:
    """A frame is a fresh `bytearray`: it can be kept, and changed in place (a batch gets its offset that way)."""

    __slots__ = ("_broken", "_is_peer_trusted", "_partial", "_received", "_size", "_spare", "limit_bytes")

    def __init__(self, limit_bytes: int = FRAME_BYTES_MAX, *, is_peer_trusted: bool = False) -> None:
        """A peer that is trusted (a client's node) gets all the room that it promises to fill at once. If nobody holds
        its last large frame any more, that is where the next one goes: fresh memory has to be cleared, and be found."""
        #: Applies to the next length that arrives; raised once the peer is authenticated.
        self.limit_bytes = limit_bytes
        self._partial = bytearray()
        #: Of the frame that is arriving; 0 while its length is.
        self._size = 0
        #: How much of `_partial` has arrived, if the frame is received directly; 0 if all of it has.
        self._received = 0
        self._is_peer_trusted = is_peer_trusted
        self._spare: bytearray | None = None
        self._broken = ""

    @property
    def pending_bytes(self) -> int:
        """Number of bytes held of an unfinished frame."""
        return self._received or len(self._partial)

    @property
    def is_between_frames(self) -> bool:
        """It holds nothing, and is as good as new."""
        return not self._size and not self._partial and not self._broken

    def feed(self, data: Buffer) -> Iterable[bytearray]:
        """The frames that `data` completes, up to a flaw if there is one. To be exhausted before the next call."""
        if len(self._partial) + len(data) < self._size:
            self._partial += data
            return ()
        return self._frames(data)

    @property
    def is_direct(self) -> bool:
        """True if the next bytes go into `room` and not through `feed`."""
        return self._received > 0

    def room(self) -> memoryview | None:
        """For the rest of a large frame, or some of it, which spares a copy; None where there is none."""
        arrived = self.pending_bytes
        if arrived < _DIRECT_FROM_BYTES or not self._size:
            return None
        if arrived == len(self._partial):
            grown = self._whole_room() if self._is_peer_trusted else bytearray(min(self._size, arrived * _ROOM_FACTOR))
            grown[:arrived] = self._partial
            self._partial = grown
        self._received = arrived
        return memoryview(self._partial)[arrived:]

    def received(self, count: int) -> bytearray | None:
        """So much has come into `room`; the frame, if that was its end."""
        self._received += count
        if self._received < self._size:
            return None
        frame, self._partial, self._size, self._received = self._partial, bytearray(), 0, 0
        if self._is_peer_trusted and len(frame) <= _SPARE_BYTES_MAX:
            self._spare = frame
        return frame

    def _whole_room(self) -> bytearray:
        spare, self._spare = self._spare, None
        if spare is None or sys.getrefcount(spare) > _OWN_REFERENCES:
            return bytearray(self._size)
        if len(spare) < self._size:
            spare += bytes(self._size - len(spare))
        else:
            del spare[self._size :]
        return spare

    def _frames(self, data: Buffer) -> Iterator[bytearray]:
        if self._broken:
            raise ProtocolError(self._broken)
        position, end = 0, len(data)
        if self._size or self._partial:
            position = self._finish(data)
            if self._size and len(self._partial) == self._size:
                frame, self._partial, self._size = self._partial, bytearray(), 0
                yield frame
        while end - position >= LENGTH_BYTES:
            size = self._checked(_LENGTH.unpack_from(data, position)[0])
            position += LENGTH_BYTES
            stop = position + size
            if stop > end:
                self._size = size
                break
            yield bytearray(data[position:stop])
            position = stop
        if position < end:
            self._partial += data[position:]

    def _finish(self, data: Buffer) -> int:
        """Go on with what was begun; how much of `data` that took."""
        position = 0
        partial = self._partial
        if not self._size:
            position = LENGTH_BYTES - len(partial)
            partial += data[:position]
            if len(partial) < LENGTH_BYTES:
                return len(data)
            self._size = self._checked(_LENGTH.unpack(partial)[0])
            partial.clear()
        missing = self._size - len(partial)
        partial += data[position : position + missing]
        return min(position + missing, len(data))

    def _checked(self, size: int) -> int:
        if 0 < size <= self.limit_bytes:
            return size
        self._size = 0
        other = other_protocol(_LENGTH.pack(size))
        if other is not None:
            flaw = OtherProtocol(other)
            self._broken = str(flaw)
            raise flaw
        self._broken = f"a frame of {size} bytes; at most {self.limit_bytes} are allowed, and at least 1"
        raise ProtocolError(self._broken)


def frame(pieces: Sequence[Buffer]) -> list[Buffer]:
    """The pieces with their length before them."""
    return [_LENGTH.pack(sum(map(len, pieces))), *pieces]
