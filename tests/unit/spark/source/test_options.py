import pytest

from odradek.common.failures import InputError
from odradek.common.ids import TopicPartition
from odradek.spark.source.offset_limits import EARLIEST, LATEST, AllSince, At, Since
from odradek.spark.source.options import (
    Assign,
    Subscribe,
    SubscribePattern,
    batch_options,
    include_headers,
    stream_options,
)

BOOTSTRAP = {"kafka.bootstrap.servers": "localhost:9092"}
BASE = {**BOOTSTRAP, "subscribe": "a"}


def test_defaults_are_those_of_the_connector() -> None:
    batch, stream = batch_options(BASE), stream_options(BASE)
    assert (batch.starting, batch.ending) == (EARLIEST, LATEST)
    assert stream.starting == LATEST
    assert batch.settings == {"bootstrap.servers": "localhost:9092"}
    assert (batch.fail_on_data_loss, batch.include_headers, batch.partitions_min) == (True, False, None)
    assert (stream.retries, stream.retry_interval_ms, stream.trigger_delay_max_ms) == (3, 1_000, 900_000)


def test_what_is_read_by_topics_by_pattern_or_by_partitions() -> None:
    assert batch_options({**BOOTSTRAP, "subscribe": " a, b,,a"}).selection == Subscribe(("a", "b"))
    assert batch_options({**BOOTSTRAP, "subscribePattern": "a.*"}).selection == SubscribePattern("a.*")
    assign = batch_options({**BOOTSTRAP, "assign": '{"a": [1, 0], "b": [2]}'}).selection
    assert assign == Assign((TopicPartition("a", 1), TopicPartition("a", 0), TopicPartition("b", 2)))


def test_names_are_taken_in_any_case() -> None:
    given = {
        "KAFKA.bootstrap.servers": "h:1",
        "SUBSCRIBE": "a",
        "startingoffsets": "Earliest",
        "INCLUDEHEADERS": "True",
        "Kafka.Client.Id": "C",
    }
    options = stream_options(given)
    assert options.starting == EARLIEST
    assert options.settings == {"bootstrap.servers": "h:1", "client.id": "C"}
    assert options.include_headers and include_headers(given)


def test_limits_by_offsets_and_by_time() -> None:
    offsets = batch_options({**BASE, "startingOffsets": '{"a": {"0": 23, "1": -2}}'}).starting
    assert offsets == At({TopicPartition("a", 0): 23, TopicPartition("a", 1): -2})
    both = {"startingTimestamp": "7", "startingOffsets": "earliest"}
    assert batch_options({**BASE, **both}).starting == AllSince(7, falls_back=False)
    by_time = {"startingOffsetsByTimestamp": '{"a": {"0": 5}}', "startingOffsetsByTimestampStrategy": "latest"}
    assert batch_options({**BASE, **by_time}).starting == Since({TopicPartition("a", 0): 5}, falls_back=True)
    assert batch_options({**BASE, "endingTimestamp": "9"}).ending == AllSince(9, falls_back=True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"subscribe": "a"}, "kafka.bootstrap.servers is missing"),
        (BOOTSTRAP, "no topics are named: set exactly one of subscribe, subscribePattern, assign"),
        ({**BASE, "subscribePattern": "a.*"}, "subscribe and subscribePattern contradict each other"),
        ({**BOOTSTRAP, "subscribe": " , "}, "subscribe is empty"),
        ({**BOOTSTRAP, "assign": "a"}, "assign is not valid JSON"),
        ({**BOOTSTRAP, "assign": '{"a": ["0"]}'}, 'assign is a JSON object such as {"topic": [0, 1]}'),
        ({**BASE, "startingOffset": "earliest"}, "unknown option startingOffset. Did you mean startingOffsets?"),
        (
            {**BASE, "bootstrap.servers": "a:1"},
            "unknown option bootstrap.servers. Did you mean kafka.bootstrap.servers?",
        ),
        ({**BASE, "group.id": "a"}, "unknown option group.id. Did you mean kafka.group.id?"),
        ({**BOOTSTRAP, "subscribe": "a,b c"}, "subscribe: invalid topic name: 'b c' contains"),
        ({**BOOTSTRAP, "assign": '{"..": [0]}'}, "assign: invalid topic name: '..' is not allowed"),
        (
            {**BOOTSTRAP, "subscribePattern": "a["},
            "subscribePattern: 'a[' is not a valid regular expression: unterminated",
        ),
        ({**BASE, "zzz": "1"}, "unknown option zzz; valid options are assign, "),
        ({**BASE, "startingOffsets": "first"}, "'first' is neither earliest, nor latest, nor a JSON object"),
        ({**BASE, "startingOffsets": '{"a": {"x": 1}}'}, "startingOffsets: invalid entry 'x': 1 of topic a"),
        ({**BASE, "startingOffsets": '{"a": {"0": -3}}'}, "startingOffsets: invalid entry '0': -3 of topic a"),
        (
            {**BASE, "startingOffsetsByTimestamp": '{"a": {"0": -2}}'},
            "startingOffsetsByTimestamp: invalid entry '0': -2 of topic a",
        ),
        ({**BASE, "startingTimestamp": str(2**63)}, "startingTimestamp: '9223372036854775808' is not an integer"),
        ({**BASE, "startingOffsets": "latest"}, "startingOffsets of a batch read cannot be latest"),
        ({**BASE, "startingOffsets": '{"a": {"0": -1}}'}, "startingOffsets of a batch read cannot be latest"),
        ({**BASE, "endingOffsets": "earliest"}, "endingOffsets of a batch read cannot be earliest"),
        ({**BASE, "minPartitions": "0"}, "minPartitions: '0' is not an integer of at least 1"),
        ({**BASE, "failOnDataLoss": "yes"}, "failOnDataLoss: 'yes' is neither true nor false"),
        ({**BASE, "maxTriggerDelay": "soon"}, "maxTriggerDelay: 'soon' is not a duration"),
        ({**BASE, "kafka.auto.offset.reset": "latest"}, "use startingOffsets instead"),
        (
            {**BASE, "kafka.Group.Id": "g", "kafka.enable.auto.commit": "true"},
            "kafka.enable.auto.commit cannot be set",
        ),
        ({**BASE, "maxOffsetsPerTrigger": "5", "minOffsetsPerTrigger": "6"}, "minOffsetsPerTrigger 6 is larger"),
        (
            {**BASE, "startingOffsets": '{"a": {"0": 5}}', "endingOffsets": '{"a": {"0": 4}}'},
            "a-0: 5 in startingOffsets is larger than 4 in endingOffsets",
        ),
        (
            {**BASE, "startingOffsets": '{"a": {"0": 5}}', "endingOffsets": '{"a": {"1": 9}}'},
            "missing in one of them: a-0, a-1",
        ),
        ({**BASE, "startingTimestamp": "9", "endingTimestamp": "8"}, "startingTimestamp 9 is later than"),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(given: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as refused:
        batch_options(given)
    assert said in str(refused.value)


def test_a_stream_has_no_end() -> None:
    with pytest.raises(InputError, match="endingOffsets is for batch reads"):
        stream_options({**BASE, "endingOffsets": "latest"})
