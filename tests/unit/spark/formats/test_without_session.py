"""The functions of a pipeline must ask Spark nothing: through Spark Connect, columns are made without a session."""

import os
import subprocess
import sys
from pathlib import Path

from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Proto

from support.spark import protobuf_files as made_of

PROGRAM = """
import sys
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType
from odradek.spark import formats
from odradek.spark.dead_letters import guarded

kind = StructType([StructField("id", LongType(), False), StructField("a `b`", StringType())])
record = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}
for made in (
    formats.json(kind),
    formats.json(kind, unknown_fields=False),
    formats.csv(kind),
    formats.avro(schema=record),
    formats.protobuf("x.M", descriptor_file=sys.argv[1]),
):
    formats.decode("value", made)
    formats.encode("struct", made)
guarded(len, IntegerType())("value")
print(type(formats.decode("value", formats.csv(kind))).__module__)
"""


def test_columns_are_made_without_a_session(tmp_path: Path) -> None:
    file = made_of.file("m.proto", "x", made_of.message("M", made_of.field("id", 1, Proto.TYPE_INT64)))
    described = tmp_path / "m.desc"
    described.write_bytes(made_of.descriptor_set(file))
    command = [sys.executable, "-c", PROGRAM, str(described)]
    environment = {**os.environ, "SPARK_CONNECT_MODE_ENABLED": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.returncode) == ("pyspark.sql.connect.column\n", 0), done.stderr
