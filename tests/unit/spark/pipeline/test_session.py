"""What a JVM of ours is started with."""

import shlex
from pathlib import Path

from odradek.spark.pipeline.project import read_project
from odradek.spark.pipeline.session import SparkTarget, jvm_settings


def test_a_project_in_a_directory_with_spaces(tmp_path: Path) -> None:
    """Whose storage is elsewhere: the log and the catalog of tables are beside the spec."""
    directory = tmp_path / "my shops"
    directory.mkdir()
    (directory / "spark-pipeline.yml").write_text("name: shop\nstorage: s3a://bucket/shop\n")
    project = read_project(str(directory))
    project.ours.mkdir()
    words = shlex.split(jvm_settings(project, SparkTarget())["spark.driver.extraJavaOptions"])
    assert words == [
        f"-Dlog4j2.configurationFile={(project.ours / 'log4j2.properties').as_uri()}",
        f"-Dderby.stream.error.file={project.ours / 'derby.log'}",
    ]
