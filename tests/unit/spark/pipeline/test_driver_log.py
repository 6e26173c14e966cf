"""Why a driver could not start, by what it and its JVM printed."""

from pathlib import Path

from odradek.spark.pipeline.driver_log import log_size, open_log, start_failure
from odradek.spark.pipeline.project import Project, read_project

TRACEBACK = """\
Traceback (most recent call last):
  File "driver.py", line 1, in <module>
odradek.errors.InputError: it is broken
"""
NO_JVM = """\
Exception in thread "main" org.apache.spark.SparkException: Master must be yarn, spark, k8s or local
\tat org.apache.spark.deploy.SparkSubmit.error(SparkSubmit.scala:1)
Traceback (most recent call last):
  File "java_gateway.py", line 111, in launch_gateway
pyspark.errors.exceptions.base.PySparkRuntimeError: [JAVA_GATEWAY_EXITED] Java gateway process exited
"""


def project_in(directory: Path) -> Project:
    (directory / "spark-pipeline.yml").write_text("name: shop\nstorage: storage\n")
    project = read_project(str(directory))
    project.ours.mkdir(parents=True)
    return project


def test_the_last_traceback_is_the_reason(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    project.log.write_text(f"starting\n{TRACEBACK}")
    assert start_failure(project, 0).endswith("InputError: it is broken\n")


def test_a_jvm_that_cannot_start_gives_its_own_reason(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    project.log.write_text(NO_JVM)
    reason = "Spark's JVM could not start: Master must be yarn, spark, k8s or local"
    assert start_failure(project, 0) == reason


def test_failures_of_drivers_before_are_not_the_reason(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    project.log.write_text(TRACEBACK)
    with open_log(project) as log:
        start = log_size(log)
        log.write(b"killed\n")
    assert start_failure(project, start) == ""
