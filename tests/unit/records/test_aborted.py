"""Which records of a fetched chunk a `read_committed` consumer shows, for any order of the aborted transactions."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.records.aborted import AbortedTransaction, AbortedTransactions
from odradek.records.batch import read_batches
from odradek.records.columns.record_columns import read_columns
from support.builders.committed_reads import NO_PRODUCER, History, WrittenBatch, aborted_entries, committed


def history(seed: int) -> list[WrittenBatch]:
    """Transactions of four producers, all of them ended."""
    made = History(Random(seed))
    made.write(NO_PRODUCER)
    made.add_random(60)
    for producer_id in sorted(made.open_transactions):
        made.end(producer_id, commit=bool(producer_id % 2))
    return made.batches


def shown_by_batches(chunk: bytes, aborted: list[AbortedTransaction]) -> list[int]:
    transactions = AbortedTransactions(aborted)
    return [record.offset for batch in read_batches(chunk) if transactions.shows(batch) for record in batch.records()]


def shown_by_columns(chunk: bytes, aborted: list[AbortedTransaction]) -> list[int]:
    return [int(offset) for offset in read_columns(chunk, aborted=aborted).offset]


@pytest.mark.parametrize("shown", [shown_by_batches, shown_by_columns])
@given(seed=st.integers(0, 1 << 32), share=st.floats(0, 1), data=st.data())
def test_the_order_of_the_aborted_transactions_does_not_matter(
    shown: Callable[[bytes, list[AbortedTransaction]], list[int]], seed: int, share: float, data: st.DataObject
) -> None:
    batches = history(seed)
    fetched = batches[int(share * len(batches)) :]
    chunk = b"".join(batch.data for batch in fetched)
    start = fetched[0].base_offset if fetched else batches[-1].next_offset
    overlapping = [entry for entry in aborted_entries([batches]) if entry.last_offset >= start]
    aborted = [AbortedTransaction(entry.producer_id, entry.first_offset) for entry in overlapping]
    in_any_order = data.draw(st.permutations(aborted + aborted[:1]))
    assert shown(chunk, in_any_order) == [offset for offset, _, _ in committed(batches) if offset >= start]
