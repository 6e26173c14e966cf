"""Values of records as columns, and back: JSON, CSV, Avro, Protobuf.

A format is created once, by `json`, `csv`, `avro` or `protobuf`, and can be used any number of times:

    orders = formats.json("id BIGINT NOT NULL, amount DOUBLE")
    rows = source.withColumn("decoded", formats.decode("value", orders))

`decode` returns `struct<data, error>`: for each value, either the data or the reason why it is invalid. It is strict:
malformed or incomplete values, values of a wrong type, and trailing data are errors. `encode` converts a struct to
binary.

Only functions that Spark dispatches by type of session are used, so that all this works in classic sessions, through
Spark Connect and in Declarative Pipelines; a view over decoded rows makes them known to SQL.
"""

from odradek.spark.formats.avro_format import avro
from odradek.spark.formats.csv_format import csv
from odradek.spark.formats.format import Format, decode, encode
from odradek.spark.formats.json_format import json
from odradek.spark.formats.protobuf_format import protobuf

__all__ = ["Format", "avro", "csv", "decode", "encode", "json", "protobuf"]
