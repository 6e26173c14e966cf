import pytest

from odradek.spark.deploy.remedies import remedy_for
from odradek.spark.pipeline.causes import cause_of

_JVM = "Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent failure:\n"


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        (
            "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: odradek. Make sure the provider name is correct "
            "and the package is properly registered and compatible with your Spark version. SQLSTATE: 42K02",
            "Spark does not find the data source odradek",
            "set PYSPARK_PYTHON",
        ),
        (
            f'{_JVM}java.io.IOException: Cannot run program "./environment/bin/python": error=2, No such file',
            "an executor has no Python at ./environment/bin/python",
            "spark.sql.execution.pyspark.python",
        ),
        (
            "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has "
            "different version: 3.10 than that in driver: 3.11, PySpark cannot run with different minor versions.\n"
            "Please check environment variables PYSPARK_PYTHON and PYSPARK_DRIVER_PYTHON are correctly set.",
            "an executor has Python 3.10 and the driver 3.11",
            "spark.sql.execution.pyspark.python",
        ),
        (
            f"{_JVM}Traceback (most recent call last):\nModuleNotFoundError: No module named 'odradek'\n",
            "odradek is not installed in the Python of an executor",
            "odradek spark package",
        ),
        (
            "PySparkImportError: [PACKAGE_NOT_INSTALLED] PyArrow >= 18.0.0 must be installed; it was not found.",
            "PyArrow is not installed in the Python of an executor",
            "pip install pyarrow",
        ),
        (
            "org.apache.spark.SparkRuntimeException: [LOCATION_ALREADY_EXISTS] Cannot name the managed table as "
            "`spark_catalog`.`default`.`orders`, as its associated location 'file:/shared/warehouse/orders' already "
            "exists. Please pick a different table name, or remove the existing location first. SQLSTATE: 42710",
            "there are files of table `spark_catalog`.`default`.`orders` in file:/shared/warehouse/orders",
            "spark.sql.catalogImplementation=hive",
        ),
    ],
)
def test_a_known_failure_has_a_remedy_in_one_sentence(text: str, what: str, fix: str) -> None:
    remedy = remedy_for(text)
    assert remedy is not None and remedy.startswith(what) and fix in remedy and "\n" not in remedy
    assert cause_of(text) == remedy


def test_other_failures_have_none() -> None:
    assert remedy_for("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: kafka.") is None
    assert remedy_for("ModuleNotFoundError: No module named 'shop'") is None
