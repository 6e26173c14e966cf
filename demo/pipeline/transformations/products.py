"""What the shop sells."""

from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

spark = SparkSession.active()

PRODUCTS = Path(__file__).parents[1] / "products.csv"


@dp.temporary_view
def products() -> DataFrame:
    schema = "product STRING, category STRING, name STRING, price_cents BIGINT"
    return spark.read.csv(str(PRODUCTS), schema=schema, header=True)
