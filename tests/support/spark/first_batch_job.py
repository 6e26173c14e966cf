"""A driver of Spark, as a process, whose streams never come to the end of their first batch: to be killed in it.

python -m support.spark.first_batch_job <directory> <format>

`starts.json` in the directory has the options of each stream by name. A stream that has begun its first batch makes a
file of its name with the suffix `.begun`.
"""

import json
import sys
import threading
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from support.spark.session import settings_of
from support.spark.starts import jars_for


def main(directory: Path, form: str) -> None:
    builder = SparkSession.builder.master("local[2]").appName("first-batches")
    for name, value in settings_of(directory / "spark", jars_for(form)).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for name, options in json.loads((directory / "starts.json").read_text()).items():

        def hang(rows: DataFrame, batch: int, name: str = name) -> None:
            (directory / f"{name}.begun").touch()
            threading.Event().wait()

        stream = spark.readStream.format(form).options(**options).load()
        stream.writeStream.foreachBatch(hang).option("checkpointLocation", str(directory / name)).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
