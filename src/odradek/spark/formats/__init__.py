"""Values of records as columns, and back: JSON, CSV, Avro, Protobuf.

A format is made once, by `json`, `csv`, `avro` or `protobuf`, and used in as many places as one likes:

    orders = formats.json("id BIGINT NOT NULL, amount DOUBLE")
    rows = source.withColumn("decoded", formats.decode("value", orders))

`decode` gives `struct<data, error>`: of each value, either the data or the reason why it is none. It is strict: what is
broken, of a wrong type, incomplete, or followed by something else is an error. `encode` makes binary of a struct.

Only functions that Spark dispatches by kind of session are used, so that all this works in classic sessions, through
Spark Connect and in Declarative Pipelines; a view over decoded rows makes them known to SQL.
"""

from odradek.spark.formats.avro_format import avro
from odradek.spark.formats.csv_format import csv
from odradek.spark.formats.format import Format, decode, encode
from odradek.spark.formats.json_format import json
from odradek.spark.formats.protobuf_format import protobuf

__all__ = ["Format", "avro", "csv", "decode", "encode", "json", "protobuf"]
