"""The latest offset of every key, in memory that is bounded and known beforehand.

Compaction must know, for every key of the dirty section, where its last record is. Keys may be long and many, so the
map holds no key: it holds a 128-bit digest and an offset, 24 bytes a slot, in one open-addressed table that is
allocated once.

Everything goes by the thousand: one numpy pass hashes all keys of a chunk, one probes all of them, which is what makes
a table in Python both dense and fast. A cryptographic digest costs 0.4 µs a call and a call a key, so keys are hashed
by *multilinear hashing* instead: a key is its length and its bytes as 32-bit words, each word is multiplied by a random
64-bit coefficient, and the upper half of the sum is one 32-bit lane; four lanes with coefficients of their own make
128 bits. For any two different keys, chosen by whomever, the chance that all four lanes agree is 2^-128 over the choice
of coefficients (Lemire and Kaser, "Strongly universal string hashing is fast"). They are drawn anew for every cleaner
from a secret seed, so nobody can prepare two keys of which the cleaner would lose one.

The n-th probe of a key is `(high + n * step) mod slots`, where both words come from the digest and the step is odd: the
sequence behaves like random draws, about ten of them at a load of 0.9. A slot is empty when its third word is zero;
offsets are therefore stored plus one.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from odradek.common.failures import check

#: Digest (16) and offset (8), as Kafka counts it: `log.cleaner.dedupe.buffer.size` buys the same number of keys.
BYTES_PER_SLOT = 24

#: What `get` answers for a key that is not there; smaller than any offset.
NO_OFFSET = -1

#: The fullest that a table may become. A look-up ends at an empty slot: 10 probes away at 0.9, 20 at 0.95, and never if
#: there is none.
MAX_LOAD_FACTOR = 0.95

#: Keys up to this many bytes are hashed as they are. Longer ones are rare, and go through SHA-256 first: otherwise one
#: long key would widen the matrix for all keys of its chunk.
LONG_KEY_BYTES = 256

_WORD_BYTES = 4
_LANES = 4
#: One word for the length, then the key.
_COEFFICIENTS = 1 + LONG_KEY_BYTES // _WORD_BYTES
#: Added to the length word of a long key, so that it never meets a short key that looks like its digest.
_LONG_KEY_MARK = 1 << 31

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]
Digests = npt.NDArray[np.uint64]


class KeyHasher:
    """Digests of many keys at once: one row of two words per key. Some 0.1 µs a key of 16 bytes."""

    __slots__ = ("_coefficients", "_constants")

    def __init__(self, seed: bytes) -> None:
        size = (_COEFFICIENTS + 1) * _LANES
        stream = hashlib.shake_256(seed).digest(size * 8)
        drawn = np.frombuffer(stream, dtype=np.uint64).reshape(_COEFFICIENTS + 1, _LANES)
        self._coefficients = drawn[1:]
        self._constants = drawn[0]

    def hash_keys(self, keys: Sequence[bytes | memoryview]) -> Digests:
        lengths = np.fromiter(map(len, keys), dtype=np.int64, count=len(keys))
        return self.hash_ranges(b"".join(keys), np.cumsum(lengths) - lengths, lengths)

    def hash_ranges(self, data: bytes, starts: Offsets, lengths: Offsets) -> Digests:
        """`starts` and `lengths` are the ranges of the keys in `data`."""
        octets = np.frombuffer(data, dtype=np.uint8)
        if not len(starts):
            return np.empty((0, 2), dtype=np.uint64)
        long = np.flatnonzero(lengths > LONG_KEY_BYTES)
        width = int(np.where(lengths > LONG_KEY_BYTES, 0, lengths).max()) if len(long) else int(lengths.max())
        width = max(width, hashlib.sha256().digest_size) if len(long) else width
        key_words = self._key_words(octets, starts, lengths, -(-width // _WORD_BYTES))
        for row in long:
            start, length = int(starts[row]), int(lengths[row])
            digest = np.frombuffer(hashlib.sha256(data[start : start + length]).digest(), dtype=np.uint32)
            key_words[row, 0] = length | _LONG_KEY_MARK
            key_words[row, 1:] = 0
            key_words[row, 1 : 1 + len(digest)] = digest
        lanes = key_words @ self._coefficients[: key_words.shape[1]] + self._constants
        lanes >>= np.uint64(32)
        digests: Digests = lanes[:, :2] << np.uint64(32) | lanes[:, 2:]
        return digests

    @staticmethod
    def _key_words(octets: Bytes, starts: Offsets, lengths: Offsets, width_words: int) -> npt.NDArray[np.uint64]:
        """A row per key: its length, then its bytes as words, padded with zeros."""
        key_words = np.empty((len(starts), 1 + width_words), dtype=np.uint64)
        key_words[:, 0] = lengths.view(np.uint64)
        if width_words:
            column = np.arange(width_words * _WORD_BYTES)
            inside = column < lengths[:, None]
            padded = np.where(inside, octets[np.where(inside, starts[:, None] + column, 0)], np.uint8(0))
            key_words[:, 1:] = padded.view(np.uint32)
        return key_words


class OffsetMap:
    """Digest of a key to the latest offset of that key.

    `latest_offset` is the last offset that the map knows about, keyed or not: records beyond it must not be judged by
    the map.
    """

    __slots__ = ("_table", "latest_offset", "max_keys", "size", "slots")

    def __init__(self, memory_bytes: int, load_factor: float = 0.9, most_keys: int | None = None) -> None:
        """`most_keys`: there will never be more, so a small log takes a small table."""
        slots = memory_bytes // BYTES_PER_SLOT
        self.max_keys = int(slots * min(load_factor, MAX_LOAD_FACTOR))
        check(self.max_keys > 0, f"an offset map of {memory_bytes} bytes has no room for a key")
        # Twice as many slots as keys keep the probes short where memory allows it.
        self.slots = slots if most_keys is None else min(slots, 2 * most_keys + 1)
        self._table = np.zeros((self.slots, 3), dtype=np.uint64)
        self.size = 0
        self.latest_offset = NO_OFFSET

    @property
    def memory_bytes(self) -> int:
        return self._table.nbytes

    @property
    def utilization(self) -> float:
        """1.0 when the round must end for want of room."""
        return self.size / self.max_keys

    def clear(self) -> None:
        self._table[:] = 0
        self.size = 0
        self.latest_offset = NO_OFFSET

    def put_many(self, digests: Digests, offsets: Offsets) -> None:
        """Later rows win. Offsets must ascend, and there must be room for all rows as if every key were new."""
        if not len(offsets):
            return
        check(self.size + len(offsets) <= min(self.max_keys, self.slots - 1), "more keys than the map has room for")
        rows = np.column_stack((digests, (offsets + 1).view(np.uint64)))
        pending = rows
        step = rows[:, 1] | np.uint64(1)
        probe = rows[:, 0].copy()
        while len(pending):
            slots = probe % np.uint64(self.slots)
            held = self._table[slots]
            empty = held[:, 2] == 0
            same = (held[:, 0] == pending[:, 0]) & (held[:, 1] == pending[:, 1]) & ~empty
            self._table[slots[same], 2] = pending[same, 2]
            # Several keys may claim one empty slot: the last one has it (all three words of it), the others go on.
            claimed = slots[empty]
            self._table[claimed] = pending[empty]
            self.size += int(np.count_nonzero(self._table[claimed, 2] == pending[empty, 2]))
            held = self._table[slots]
            settled = (held[:, 0] == pending[:, 0]) & (held[:, 1] == pending[:, 1])
            going_on = ~settled
            pending, step, probe = pending[going_on], step[going_on], probe[going_on]
            probe += step
        self.latest_offset = int(offsets[-1])

    def get_many(self, digests: Digests) -> Offsets:
        """The offset of each key, `NO_OFFSET` where there is none."""
        offsets = np.full(len(digests), NO_OFFSET, dtype=np.int64)
        index = np.arange(len(digests))
        probe = digests[:, 0].copy()
        step = digests[:, 1] | np.uint64(1)
        while len(index):
            held = self._table[probe % np.uint64(self.slots)]
            sought = digests[index]
            used = held[:, 2] != 0
            same = (held[:, 0] == sought[:, 0]) & (held[:, 1] == sought[:, 1]) & used
            offsets[index[same]] = held[same, 2].view(np.int64) - 1
            going_on = used & ~same
            index, step, probe = index[going_on], step[going_on], probe[going_on]
            probe += step
        return offsets
