"""From a fetched chunk to records: what is left out, where it goes on, and what damage does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.client.consumer.completed_fetch import CompletedFetch, RecordDecoding
from odradek.errors import DeserializationFailed, FetchFailed
from odradek.records.batch import Compression, read_batch
from odradek.records.builder import empty_batch, retained_batch
from support.builders.records import CODECS
from unit.client.consumer.fetches import at_positions, completed, marker, partition_data, transactional, values

COMMITTED = RecordDecoding(read_committed=True)


def taken(fetch: CompletedFetch, limit: int = 100) -> list[bytes]:
    return [row.value for row in fetch.take(limit)]


@pytest.mark.parametrize("codec", CODECS)
def test_records_come_in_pieces_of_the_size_that_is_wanted(codec: Compression) -> None:
    data = partition_data(values(b"a", b"b", b"c", codec=codec), values(b"d", b"e", base_offset=3, codec=codec))
    fetch = completed(at_positions(0), data)
    assert fetch.end_offset == 5
    assert (taken(fetch, 2), fetch.next_offset, fetch.is_drained) == ([b"a", b"b"], 2, False)
    assert (taken(fetch, 2), fetch.next_offset) == ([b"c", b"d"], 4)
    assert (taken(fetch, 2), fetch.next_offset, fetch.is_drained) == ([b"e"], 5, True)
    assert taken(fetch) == []


def test_what_lies_before_the_position_is_left_out() -> None:
    data = partition_data(values(b"a", b"b"), values(b"c", b"d", b"e", base_offset=2))
    assert taken(completed(at_positions(3), data)) == [b"d", b"e"]


def test_part_of_a_batch_at_the_end_is_left_for_the_next_fetch() -> None:
    whole, cut = values(b"a"), values(b"b", base_offset=1)[:-1]
    fetch = completed(at_positions(0), partition_data(whole, cut))
    assert (taken(fetch), fetch.next_offset, fetch.is_drained) == ([b"a"], 1, True)
    assert completed(at_positions(0), partition_data(cut)).has_no_whole_batch


def test_behind_compacted_records_the_position_is_behind_the_batch() -> None:
    batch = read_batch(values(b"a", b"b", b"c"))
    kept = retained_batch(batch, [list(batch.records())[1]])
    gone = empty_batch(read_batch(values(b"d", b"e", base_offset=3)))
    fetch = completed(at_positions(0), partition_data(kept, gone))
    assert ([row.offset for row in fetch.take(10)], fetch.next_offset) == ([1], 5)


def test_aborted_transactions_are_seen_only_by_those_who_want_to() -> None:
    chunks = [
        transactional(1, 0, b"aborted"),
        transactional(2, 1, b"committed"),
        marker(1, 2, committed=False),
        marker(2, 3, committed=True),
        transactional(1, 4, b"later"),
        marker(1, 5, committed=True),
    ]
    seen = completed(at_positions(0), partition_data(*chunks, aborted=[(1, 0)]), reading=COMMITTED)
    assert (taken(seen), seen.next_offset) == ([b"committed", b"later"], 6)
    everything = completed(at_positions(0), partition_data(*chunks, aborted=[(1, 0)]))
    assert taken(everything) == [b"aborted", b"committed", b"later"]


def test_a_chunk_of_nothing_to_see_moves_the_position_all_the_same() -> None:
    data = partition_data(transactional(1, 0, b"x"), marker(1, 1, committed=False), aborted=[(1, 0)])
    fetch = completed(at_positions(0), data, reading=COMMITTED)
    assert (taken(fetch), fetch.next_offset, fetch.is_drained) == ([], 2, True)


def damaged(batch: bytes) -> bytes:
    return batch[:-1] + bytes([batch[-1] ^ 1])


def test_records_before_damage_are_handed_out_and_then_it_is_told_again_and_again() -> None:
    fetch = completed(at_positions(0), partition_data(values(b"a"), damaged(values(b"b", base_offset=1))))
    assert taken(fetch) == [b"a"]
    for _ in range(2):
        with pytest.raises(FetchFailed, match=r"a-0 cannot be read at offset 1: .*CRC.*seek beyond it") as failed:
            fetch.take(10)
        assert (failed.value.offset, fetch.next_offset) == (1, 1)


def test_damage_is_not_looked_for_where_that_is_not_wanted() -> None:
    batch = bytearray(values(b"a"))
    batch[-2] ^= 1  # in the value, so that the record can be read
    reading = RecordDecoding(check_crcs=False)
    assert len(taken(completed(at_positions(0), partition_data(bytes(batch)), reading=reading))) == 1


def test_bytes_that_are_no_batch_are_told_where_they_lie() -> None:
    broken = values(b"b", base_offset=1)[:8] + bytes(4) + bytes(60)
    fetch = completed(at_positions(0), partition_data(values(b"a"), broken))
    assert taken(fetch) == [b"a"]
    with pytest.raises(FetchFailed, match="its length of 0"):
        fetch.take(10)


def test_a_last_batch_of_no_known_format_is_told_when_it_is_come_to() -> None:
    unknown = bytearray(values(b"b", base_offset=1))
    unknown[16] = 9
    fetch = completed(at_positions(0), partition_data(values(b"a"), bytes(unknown)))
    assert fetch.is_the_end, "nobody knows where to go on"
    assert taken(fetch) == [b"a"]
    with pytest.raises(FetchFailed, match=r"at offset 1: .*no format has the magic 9"):
        fetch.take(10)


def test_deserializers_make_values_and_nulls_stay() -> None:
    reading = RecordDecoding(key_deserializer=bytes.decode, value_deserializer=int)
    fetch = completed(at_positions(0), partition_data(values(b"1", b"22")), reading=reading)
    assert [(row.key, row.value) for row in fetch.take(10)] == [("key", 1), ("key", 22)]


def test_a_deserializer_that_raises_stops_in_front_of_its_record() -> None:
    reading = RecordDecoding(value_deserializer=int)
    fetch = completed(at_positions(0), partition_data(values(b"1", b"2", b"x", b"4")), reading=reading)
    assert [row.value for row in fetch.take(10)] == [1, 2]
    for _ in range(2):
        with pytest.raises(DeserializationFailed, match="a-0, offset 2: the value's deserializer raised ValueError"):
            fetch.take(10)
    assert fetch.next_offset == 2


def test_what_is_given_back_comes_again_and_is_not_deserialized_twice() -> None:
    reading = RecordDecoding(value_deserializer=lambda data: data + b"!")
    fetch = completed(at_positions(0), partition_data(values(b"a", b"b", b"c", b"d")), reading=reading)
    rows = fetch.take(3)
    fetch.give_back(rows[1:])
    assert fetch.next_offset == 1
    assert taken(fetch) == [b"b!", b"c!", b"d!"]
    assert fetch.is_drained
    fetch.give_back(rows[2:])
    assert (taken(fetch), fetch.next_offset) == ([b"c!"], 4)


@given(st.lists(st.lists(st.binary(max_size=5), min_size=1, max_size=5), min_size=1, max_size=5), st.data())
def test_columns_and_records_are_the_same(batches: list[list[bytes]], data: st.DataObject) -> None:
    codec = data.draw(st.sampled_from(CODECS))
    chunks, offset = [], 0
    for texts in batches:
        chunks.append(values(*texts, base_offset=offset, codec=codec))
        offset += len(texts)
    start = data.draw(st.integers(0, offset - 1))
    by_record, by_column = (completed(at_positions(start), partition_data(*chunks)) for _ in range(2))
    first = data.draw(st.integers(0, offset))
    rows = by_record.take(first) if first else []
    head = by_column.take(first) if first else []
    columns = by_column.take_columns() if not by_column.is_drained else None
    rows += by_record.take(offset)
    found = [row.value for row in head] + (columns.values() if columns else [])
    assert found == [row.value for row in rows]
    assert by_column.next_offset == by_record.next_offset == offset and by_column.is_drained


def test_damage_in_columns_is_told_too() -> None:
    fetch = completed(at_positions(0), partition_data(values(b"a"), damaged(values(b"b", base_offset=1))))
    with pytest.raises(FetchFailed, match="CRC"):
        fetch.take_columns()
    assert taken(fetch) == [b"a"], "and what comes before it can still be had"
