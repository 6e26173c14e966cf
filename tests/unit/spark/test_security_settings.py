"""Settings for SASL and TLS are refused wherever a job gives them: only PLAINTEXT is spoken."""

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql.types import BinaryType, StructField, StructType

from odradek.common.failures import InputError
from odradek.spark.source.data_source import OdradekDataSource
from odradek.spark.source.schema import spark_schema

READ, WRITTEN = spark_schema(with_headers=False), StructType([StructField("value", BinaryType())])

JOBS: dict[str, Callable[[OdradekDataSource], Any]] = {
    "read": lambda source: source.reader(READ).partitions(),
    "readStream": lambda source: source.streamReader(READ).initialOffset(),
    "readStream from its checkpoint": lambda source: source.streamReader(READ).partitions({}, {}),
    "write": lambda source: source.writer(WRITTEN, False),
    "writeStream": lambda source: source.streamWriter(WRITTEN, False),
}


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("kafka.sasl.jaas.config", "PlainLoginModule required password='hidden';", "sasl.jaas.config.*SASL is not sup"),
        ("kafka.sasl.mechanism", "PLAIN", "sasl.mechanism.*SASL is not supported"),
        ("kafka.ssl.keystore.password", "hidden", "ssl.keystore.password.*TLS is not supported"),
        ("kafka.security.protocol", "SASL_SSL", "security.protocol.*SASL_SSL is not supported"),
    ],
)
def test_security_that_cannot_be_had_is_refused(job: str, option: str, value: str, text: str) -> None:
    topic = {"subscribe": "t"} if job.startswith("read") else {"topic": "t"}
    source = OdradekDataSource({"kafka.bootstrap.servers": "localhost:9", **topic, option: value})
    with pytest.raises(InputError, match=text) as refused:
        JOBS[job](source)
    assert "hidden" not in str(refused.value)
