"""When batches are ready, what is drained, and that order, memory and time are kept."""

import pytest

from odradek.client.producer.producer_batch import ProducerBatch
from odradek.client.producer.record_accumulator import AccumulatorSettings, record_size
from odradek.client.types import TopicPartition
from odradek.errors import DeliveryTimedOut
from odradek.records.compression import Compression
from odradek.records.record_packer import RecordPacker
from unit.client.producer.producing import BACKOFF_MS, Queues, idempotent


def test_a_batch_lingers_until_its_time() -> None:
    queues = Queues(AccumulatorSettings(linger_ms=5))
    queues.append(now_ms=100)
    ready = queues.accumulator.ready(102)
    assert (ready.nodes, ready.next_check_ms) == ([], 105)
    assert queues.accumulator.ready(105).nodes == [1]


@pytest.mark.parametrize("why", ["full", "flush", "memory"])
def test_what_makes_it_urgent(why: str) -> None:
    queues = Queues(AccumulatorSettings(linger_ms=1_000))
    if why == "full":
        queues.fill()
    else:
        queues.append()
    queues.accumulator.flushes += why == "flush"
    queues.accumulator.waiting_for_memory += why == "memory"
    assert queues.accumulator.ready(1).nodes == [1]


def test_with_a_node_all_its_partitions_are_drained_one_batch_of_each() -> None:
    queues = Queues(AccumulatorSettings(linger_ms=1_000), leaders={0: (1, 0), 1: (2, 0), 2: (1, 0)})
    full = queues.fill(0)
    others = [queues.append(1), queues.append(2)]
    assert queues.accumulator.ready(1).nodes == [1]
    assert queues.accumulator.drain([1], 1).batches == {1: [full, others[1]]}
    assert full.is_closed and others[1] is not None and others[1].is_closed
    assert queues.accumulator.ready(1).nodes == [], "what is left lingers"
    assert queues.accumulator.drain([2], 1).batches == {2: [others[0]]}


def test_a_request_is_no_larger_than_may_be_and_the_next_begins_with_the_others() -> None:
    queues = Queues(AccumulatorSettings(max_request_size=20_000, linger_ms=0))
    batches = [queues.fill(number) for number in range(3)]
    assert [queues.drain()[0] for _ in range(3)] == batches


def test_partitions_without_a_leader_are_named_and_wait() -> None:
    queues = Queues(leaders={1: (1, 0)})
    queues.append(0)
    assert queues.accumulator.ready(1_000).unknown_topics == ["t"]
    assert queues.drain() == []
    queues.leaders[0] = (4, 0)
    assert queues.accumulator.ready(1_000).nodes == [4]


def test_memory_is_reserved_by_batch_and_given_back_when_it_is_done() -> None:
    queues = Queues(AccumulatorSettings(batch_size=1_000, buffer_memory=2_500))
    first = queues.append(0)
    assert first is not None and queues.append(1) is not None
    assert queues.accumulator.available_bytes == 500
    assert queues.append(2) is None
    first.complete(0, -1)
    queues.accumulator.release(first)
    queues.accumulator.release(first)
    assert queues.accumulator.available_bytes == 1_500
    large = queues.append(2, b"v" * 1_200)
    assert large is not None and large.reserved_bytes > 1_200


def test_a_record_that_can_never_be_sent_is_told() -> None:
    queues = Queues(AccumulatorSettings(max_request_size=1_000, buffer_memory=500))
    assert "larger than max.request.size (1000)" in (queues.accumulator.too_large(1_001) or "")
    assert "larger than buffer.memory (500)" in (queues.accumulator.too_large(600) or "")
    assert queues.accumulator.too_large(400) is None
    packer = RecordPacker(1 << 20)
    packer.append(1 << 60, b"k" * 9, b"v" * 99, [("header", b"x" * 50), ("ü", None)])
    assert packer.size_bytes <= record_size(b"k" * 9, b"v" * 99, [("header", b"x" * 50), ("ü", None)])


def test_a_retry_comes_first_after_its_back_off() -> None:
    queues = Queues(AccumulatorSettings(linger_ms=0))
    first = queues.fill()
    assert queues.drain() == [first]
    queues.accumulator.requeue(first, 1_000)
    ready = queues.accumulator.ready(1_010)
    assert ready.nodes == [] and 1_000 + 0.8 * BACKOFF_MS <= ready.next_check_ms <= 1_000 + 1.2 * BACKOFF_MS
    assert queues.drain(ready.next_check_ms) == [first]
    assert first.attempts == 1


def test_a_new_leader_is_not_kept_waiting() -> None:
    queues = Queues(AccumulatorSettings(linger_ms=0))
    first = queues.fill()
    queues.drain()
    queues.accumulator.requeue(first, 1_000)
    queues.leaders[0] = (2, 1)
    assert queues.accumulator.ready(1_001).nodes == [2]


def test_a_muted_partition_sends_nothing_until_its_batch_is_back() -> None:
    queues = Queues(AccumulatorSettings(linger_ms=0, is_muting=True))
    first = queues.fill()
    assert queues.drain() == [first]
    assert queues.drain() == []
    queues.accumulator.unmute(first.topic_partition)
    assert len(queues.drain()) == 1


def test_batches_with_sequences_go_back_in_their_order() -> None:
    manager = idempotent()
    queues = Queues(AccumulatorSettings(linger_ms=0), transactions=manager)
    known = queues.fill()
    assert queues.drain() == [known] and queues.drain() == [], "nothing else before the first is acknowledged"
    manager.sequences.handle_completed_batch(known, 0)
    sent = queues.drain()
    for _ in range(3):
        queues.fill()
        sent += queues.drain()
    assert [each.base_sequence for each in sent] == sorted(each.base_sequence for each in sent)
    for each in (sent[2], sent[0], sent[3], sent[1]):
        queues.accumulator.requeue(each, 1_000)
    assert list(queues.topic.queues[0].batches)[: len(sent)] == sent
    assert queues.drain(5_000) == [sent[0]], "one at a time, until it is acknowledged"
    assert queues.drain(5_000) == []
    manager.sequences.handle_completed_batch(sent[0], 0)
    assert queues.drain(5_000) == [sent[1]]


def test_what_is_too_old_expires_wherever_it_is() -> None:
    queues = Queues(AccumulatorSettings(linger_ms=0, delivery_timeout_ms=100))
    in_flight, waiting = queues.append(0, now_ms=0), queues.append(1, now_ms=0)
    queues.accumulator.drain([1], 0)
    later = queues.append(2, now_ms=50)
    assert queues.accumulator.next_expiry_ms() == 100
    assert queues.accumulator.expired(100) == [in_flight, waiting]
    assert later is not None and list(queues.topic.queues[2].batches) == [later]


def test_what_was_never_sent_can_be_taken_back() -> None:
    queues = Queues(AccumulatorSettings(linger_ms=0), transactions=idempotent())
    sent = queues.fill()
    assert queues.drain() == [sent]
    queues.accumulator.requeue(sent, 1_000)
    unsent = queues.accumulator.take_unsent()
    assert len(unsent) == 1 and sent not in unsent
    assert list(queues.topic.queues[0].batches) == [sent]
    assert queues.accumulator.take_all() == [sent, *unsent]
    assert not queues.accumulator.has_undrained


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.LZ4])
def test_a_batch_that_is_too_large_is_split_and_its_records_find_their_part(codec: Compression) -> None:
    queues = Queues(AccumulatorSettings(linger_ms=0, batch_size=4_000, codec=codec))
    told: list[tuple[int, ProducerBatch]] = []
    whole = queues.append()
    assert whole is not None
    for number in range(1, 20):
        queues.append(value=b"%d" % number * 50)
    queues.drain()
    for index in (0, 19):
        whole.listen(index, lambda index=index: told.append((index, whole.leaf(index)[0])))  # type: ignore[misc]
    queues.accumulator.split(whole)
    parts = [part for _, part in whole.parts]
    assert len(parts) >= 2 and sum(part.count for part in parts) == 20
    assert [whole.leaf(first) for first, _ in whole.parts] == [(part, 0) for part in parts]
    assert list(queues.topic.queues[0].batches)[: len(parts)] == parts
    for number, part in enumerate(parts):
        part.complete(number * 100, -1)
        queues.accumulator.release(part)
    assert told == [(0, parts[0]), (19, parts[-1])]
    assert queues.accumulator.available_bytes == queues.accumulator.settings.buffer_memory
    assert not queues.accumulator.has_incomplete


def test_compression_makes_room_for_more() -> None:
    queues = Queues(AccumulatorSettings(linger_ms=0, codec=Compression.ZSTD))
    counts = []
    for _ in range(100):
        batch = queues.fill()
        counts.append(batch.count)
        queues.drain()
        queues.drain()
    assert counts[-1] > counts[0] * 1.5


def test_load_and_availability_of_partitions() -> None:
    settings = AccumulatorSettings(linger_ms=0, availability_timeout_ms=100)
    queues = Queues(settings, leaders={0: (1, 0), 1: (2, 0)})
    queues.fill(0)
    queues.accumulator.node_not_ready(1, 0)
    queues.accumulator.node_not_ready(1, 500)
    for _ in range(20):
        queues.topic.sticky.switch()
        assert queues.topic.sticky.partition == 1
    queues.accumulator.drain([1], 501)
    seen = set()
    for _ in range(50):
        queues.topic.sticky.switch()
        seen.add(queues.topic.sticky.partition)
    assert seen == {0, 1}


def test_all_of_many_partitions_are_taken() -> None:
    queues = Queues(partitions=300)
    seen = set()
    for _ in range(4_000):
        queues.topic.sticky.switch()
        seen.add(queues.topic.sticky.partition)
    assert len(seen) == 300


def test_partitions_may_be_added() -> None:
    queues = Queues()
    queues.accumulator.topic("t", 5)
    partitions = [queue.topic_partition for queue in queues.topic.queues]
    assert partitions == [TopicPartition("t", number) for number in range(5)]


def test_a_topic_that_was_made_anew_may_have_fewer() -> None:
    queues = Queues()
    batch = queues.append(2)
    assert batch is not None
    queues.topic.sticky.partition = 2
    queues.accumulator.topic("t", 1)
    assert queues.topic.partition_count == 1 and queues.topic.sticky.partition == 0
    assert batch.packer.append(5, None, b"next", ()) == -1
    queues.accumulator.topic("t", 0)  # deleted, or not looked at for long
    assert queues.topic.partition_count == 1
    queues.accumulator.topic("t", 3)
    assert list(queues.topic.queues[2].batches) == [batch]
    queues.accumulator.topic("t", 2)
    assert batch in queues.accumulator.take_all()


def test_nothing_is_appended_before_the_last_batch_of_a_partition() -> None:
    queues = Queues()
    first = queues.append(value=b"v" * 16_000)
    assert first is not None
    assert queues.append(value=b"v" * 1_000) is not first
    assert first.packer.append(5, None, b"small", ()) == -1


def test_nothing_is_appended_to_a_batch_that_expired() -> None:
    queues = Queues(AccumulatorSettings(delivery_timeout_ms=1_000))
    batch = queues.append()
    assert queues.accumulator.expired(1_000) == [batch] and batch is not None
    batch.fail(DeliveryTimedOut("too late"))
    assert batch.packer.append(5, None, b"next", ()) == -1
