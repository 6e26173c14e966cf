"""The spec of a project, and what is wrong with it."""

from pathlib import Path

import pytest

from odradek.common.failures import InputError
from odradek.spark.pipeline.project import find_spec, read_project, unusable_files

GOOD = """\
name: shop
storage: storage
libraries: [{glob: {include: transformations/**}}, {glob: {include: more.sql}}]
configuration: {spark.sql.shuffle.partitions: "2"}
"""


def make(directory: Path, spec: str = GOOD) -> Path:
    (directory / "spark-pipeline.yml").write_text(spec)
    (directory / "transformations" / "deep").mkdir(parents=True)
    for name in ("transformations/b.py", "transformations/deep/a.sql", "more.sql", "other.py"):
        (directory / name).write_text("")
    return directory


def test_a_good_one(tmp_path: Path) -> None:
    project = read_project(str(make(tmp_path)))
    assert project.name == "shop" and project.configuration == {"spark.sql.shuffle.partitions": "2"}
    assert project.storage == f"file://{tmp_path}/storage"
    assert project.local_storage == tmp_path / "storage"
    assert project.log == tmp_path / "storage" / "odradek" / "spark.log"
    names = [str(path.relative_to(tmp_path)) for path in project.files()]
    assert names == ["transformations/b.py", "transformations/deep/a.sql", "more.sql"]
    assert unusable_files(project) == []


def test_storage_elsewhere(tmp_path: Path) -> None:
    project = read_project(str(make(tmp_path, "name: shop\nstorage: s3a://bucket/shop\n")))
    assert project.storage == "s3a://bucket/shop" and project.local_storage is None
    assert project.state == tmp_path / ".odradek" / "state.json"


@pytest.mark.parametrize("storage", ["a b", "a%20b", "file:///a#b", "s3a://bucket/a b"])
def test_a_storage_that_spark_would_misread(tmp_path: Path, storage: str) -> None:
    with pytest.raises(InputError, match=r"spark-pipeline.yml: storage: .* contains .*, which Spark would misread"):
        read_project(str(make(tmp_path, f"name: shop\nstorage: '{storage}'\n")))


def test_a_storage_with_other_letters(tmp_path: Path) -> None:
    """As it stands: Hadoop does not read a path as a URI."""
    project = read_project(str(make(tmp_path, "name: shop\nstorage: lädchen\n")))
    assert project.storage == f"file://{tmp_path}/lädchen"
    assert project.local_storage == tmp_path / "lädchen"


def test_settings_that_count_more(tmp_path: Path) -> None:
    project = read_project(str(make(tmp_path))).with_settings({"spark.sql.shuffle.partitions": "8", "shop.topic": "a"})
    assert project.configuration == {"spark.sql.shuffle.partitions": "8", "shop.topic": "a"}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("nam: shop\nstorage: s\n", "unknown field nam; did you mean name?\nspark-pipeline.yml: name is missing"),
        ("name: shop\n", "storage is missing"),
        ("name: 5\nstorage: s\n", "name: must be a non-empty string, not 5"),
        ("name: a\nstorage: s\ndatabase: d\nschema: d\n", "database and schema are two names for one thing"),
        (
            "name: a\nstorage: s\nconfiguration: {a: 2, b: true}\n",
            "configuration: a: 2 must be a string; write '2' in quotes",
        ),
        ("name: a\nstorage: s\nconfiguration: {b: true}\n", "b: true must be a string; write 'true' in quotes"),
        ("name: a\nstorage: s\nconfiguration: [a]\n", "configuration: ['a'] is not a mapping of settings"),
        ("name: a\nstorage: s\nlibraries: x\n", "expected a list such as"),
        ("name: a\nstorage: s\nlibraries: [{file: x}]\n", "expected a list such as"),
        ("name: a\nstorage: s\nlibraries: [{glob: {include: 'a/*.py'}}]\n", "a directory followed by /**"),
        ("name: a\n  storage: s\n", "spark-pipeline.yml:2: invalid YAML"),
        ("just text\n", "the file must be a mapping with the fields name, storage"),
    ],
)
def test_what_is_wrong(tmp_path: Path, spec: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        read_project(str(make(tmp_path, spec)))
    assert said in str(error.value)
    assert all(line.startswith("spark-pipeline.yml") for line in str(error.value).splitlines())


def test_where_it_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = make(tmp_path) / "spark-pipeline.yml"
    assert find_spec(str(tmp_path)) == find_spec(str(spec)) == spec
    monkeypatch.chdir(tmp_path / "transformations" / "deep")
    assert find_spec(None) == spec
    with pytest.raises(InputError, match="odradek pipeline init nowhere creates a project"):
        find_spec("nowhere")
    with pytest.raises(InputError, match=r"the directory has no spark-pipeline\.yml"):
        find_spec(str(tmp_path / "transformations"))
    (tmp_path / "spark-pipeline.yaml").write_text(GOOD)
    with pytest.raises(InputError, match="remove one of them"):
        find_spec(str(tmp_path))


def test_no_project_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="or above it"):
        find_spec(None)


def test_files_that_spark_refuses(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / "transformations" / "notes.txt").write_text("")
    project = read_project(str(tmp_path))
    assert unusable_files(project) == [tmp_path / "transformations" / "notes.txt"]
