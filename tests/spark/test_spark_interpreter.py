"""A script that is started by the path of its interpreter, as by cron, systemd or an IDE, without `PYSPARK_PYTHON`."""

import subprocess
import sys
from pathlib import Path

import pytest

from odradek.client.blocking.producer import Producer
from odradek.testing import Cluster
from support.spark.session import foreign_environment

pytestmark = pytest.mark.slow

RECORDS = 7

JOB = """\
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from support.spark.session import settings_of
from odradek.spark import formats, register

builder = SparkSession.builder.master("local[1]")
for name, value in settings_of(Path(sys.argv[2])).items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
register(spark)
options = {"kafka.bootstrap.servers": sys.argv[1], "subscribe": "numbers", "startingOffsets": "earliest"}
rows = spark.read.format("odradek").options(**options).load()
decoded = rows.withColumn("decoded", formats.decode("value", formats.json("number INT NOT NULL")))
print("sum", decoded.agg(F.sum("decoded.data.number")).first()[0])
stream = spark.readStream.format("odradek").options(**options).load()
query = stream.writeStream.format("memory").queryName("rows").trigger(availableNow=True).start()
query.awaitTermination()
print("rows", spark.table("rows").count())
"""


def test_a_script_that_registers_the_source_needs_no_settings(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(JOB)
    with Cluster() as cluster:
        cluster.create_topic("numbers")
        with Producer({"bootstrap.servers": cluster.bootstrap}) as producer:
            for number in range(RECORDS):
                producer.send("numbers", b'{"number": %d}' % number)
        run = subprocess.run(
            [sys.executable, str(tmp_path / "job.py"), cluster.bootstrap, str(tmp_path / "spark")],
            env=foreign_environment(tmp_path / "foreign") | {"PYTHONPATH": str(Path(__file__).parents[1])},
            capture_output=True,
            text=True,
        )
    assert run.stdout.splitlines() == [f"sum {sum(range(RECORDS))}", f"rows {RECORDS}"], run.stderr[-4_000:]
