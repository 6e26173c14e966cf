import pytest

from odradek.common.failures import InputError
from odradek.spark.sink.options import Delivery, sink_options

_BOOTSTRAP = {"kafka.bootstrap.servers": "localhost:9092"}


def test_without_more_the_sink_is_idempotent() -> None:
    options = sink_options({**_BOOTSTRAP, "topic": "orders"})
    assert (options.topic, options.delivery, options.sink_id) == ("orders", Delivery.IDEMPOTENT, None)
    assert options.producer.acks == -1
    assert options.producer.enable_idempotence


def test_settings_of_the_producer_are_its_own() -> None:
    options = sink_options(
        {
            **_BOOTSTRAP,
            "kafka.compression.type": "zstd",
            "kafka.batch.size": "100000",
            "kafka.max.request.size": "50000",
        }
    )
    assert options.producer.compression_type == "zstd"
    assert options.batch_bytes == 50_000


def test_at_least_once_has_no_producer_id_and_may_choose_its_acks() -> None:
    options = sink_options({**_BOOTSTRAP, "delivery": "At-Least-Once", "kafka.acks": "1"})
    assert (options.delivery, options.producer.acks) == (Delivery.AT_LEAST_ONCE, 1)
    assert not options.producer.enable_idempotence


def test_an_exactly_once_sink_is_known_by_its_name() -> None:
    options = sink_options({**_BOOTSTRAP, "delivery": "exactly-once", "sinkId": "orders"})
    assert options.sink_id == "orders"
    assert options.producer.transaction_timeout_ms == 15 * 60 * 1000


def test_or_by_its_checkpoint_and_topic() -> None:
    def named(checkpoint: str, topic: str) -> str | None:
        given = {**_BOOTSTRAP, "delivery": "exactly-once", "checkpointLocation": checkpoint, "topic": topic}
        return sink_options(given).sink_id

    assert len({named(each, "t") for each in ("/a", "/a/", "/b/../a", "file:/a", "file:///a")}) == 1
    assert len({named("/a", "t"), named("/a", "u"), named("/b", "t")}) == 3


def test_a_name_is_of_no_use_to_other_sinks() -> None:
    assert sink_options({**_BOOTSTRAP, "sinkId": "orders"}).sink_id is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"topic": "t"}, r"kafka\.bootstrap\.servers is missing"),
        ({**_BOOTSTRAP, "delivery": "twice"}, "'twice' is not one of at-least-once, idempotent, exactly-once"),
        ({**_BOOTSTRAP, "delivery": "exactly-once"}, "requires a sinkId"),
        ({**_BOOTSTRAP, "delivery": "exactly-once", "sinkId": "x" * 201}, "sinkId has 201 characters"),
        ({**_BOOTSTRAP, "topc": "t"}, "unknown option topc. Did you mean topic"),
        ({**_BOOTSTRAP, "subscribe": "t"}, "unknown option subscribe"),
        ({**_BOOTSTRAP, "topic": ""}, "topic: invalid topic name: the empty string is not allowed"),
        ({**_BOOTSTRAP, "topic": "a b"}, "topic: invalid topic name: 'a b' contains"),
        ({**_BOOTSTRAP, "kafka.acks": "1"}, "contradicts delivery=idempotent"),
        ({**_BOOTSTRAP, "delivery": "at-least-once", "kafka.acks": "0"}, "loses records"),
        ({**_BOOTSTRAP, "kafka.enable.idempotence": "false"}, "use delivery=at-least-once"),
        ({**_BOOTSTRAP, "kafka.transactional.id": "x"}, "use delivery=exactly-once"),
        ({**_BOOTSTRAP, "kafka.key.serializer": "x"}, "cast or encode the column"),
        ({**_BOOTSTRAP, "kafka.compression.type": "best"}, "compression.type"),
    ],
)
def test_what_cannot_be_is_refused_with_what_would_be_right(given: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sink_options(given)
