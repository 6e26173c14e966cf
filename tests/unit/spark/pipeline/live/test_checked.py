"""Tables are not checked again within a run while no definition has changed."""

from pathlib import Path

import pytest

from odradek.spark.pipeline.live.checked import CheckedDefinitions
from odradek.spark.pipeline.project import Project, read_project

SPEC = "name: shop\nstorage: storage\nlibraries:\n  - glob:\n      include: transformations/**\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "transformations").mkdir()
    (tmp_path / "transformations" / "a.sql").write_text("SELECT 1")
    (tmp_path / "shared.py").write_text("x = 1")
    (tmp_path / "spark-pipeline.yml").write_text(SPEC)
    project = read_project(str(tmp_path))
    project.ours.mkdir(parents=True)
    return project


def test_a_second_driver_trusts_what_the_first_one_checked(project: Project) -> None:
    first = CheckedDefinitions(project, attempt=1)
    assert not first.is_current
    assert not CheckedDefinitions(project, attempt=2).is_current, "the first one died before it had checked"
    first.remember()
    assert CheckedDefinitions(project, attempt=2).is_current
    assert not CheckedDefinitions(project, attempt=1).is_current, "another run checks everything"


@pytest.mark.parametrize("name", ["transformations/a.sql", "transformations/b.sql", "shared.py", "spark-pipeline.yml"])
def test_a_changed_file_is_checked(project: Project, name: str) -> None:
    CheckedDefinitions(project, attempt=1).remember()
    path = project.directory / name
    path.write_text((path.read_text() if path.exists() else "") + "\n")
    assert not CheckedDefinitions(read_project(str(project.directory)), attempt=2).is_current


def test_a_changed_setting_is_checked(project: Project) -> None:
    CheckedDefinitions(project, attempt=1).remember()
    assert not CheckedDefinitions(project.with_settings({"spark.a": "b"}), attempt=2).is_current
