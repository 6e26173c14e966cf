"""meta.properties of both versions."""

from pathlib import Path

import pytest

from odradek.common.failures import InputError
from odradek.common.ids import uuid_from_text
from odradek.log.manager.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from support.builders.segments import FILES

CLUSTER = "bSXPc0xJod0nPk2Pq19b2w"
DIRECTORY = "KwYwOWzccvs2_rOX9XvTDQ"


def test_a_directory_without_one_is_not_formatted(tmp_path: Path) -> None:
    assert read_meta_properties(FILES, str(tmp_path)) is None


@pytest.mark.parametrize(
    "meta",
    [
        MetaProperties(1, CLUSTER, 3, uuid_from_text(DIRECTORY)),
        MetaProperties(1, CLUSTER, 3),
        MetaProperties(0, CLUSTER, 3),
        MetaProperties(0),
    ],
)
def test_round_trip(tmp_path: Path, meta: MetaProperties) -> None:
    write_meta_properties(FILES, str(tmp_path), meta, now_ms=0)
    assert read_meta_properties(FILES, str(tmp_path)) == meta
    assert (tmp_path / "meta.properties").read_text().startswith("#\n#Thu Jan 01 00:00:00 UTC 1970\n")


def test_version_0_is_what_has_no_version(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text(f"broker.id=7\ncluster.id={CLUSTER}\n")
    assert read_meta_properties(FILES, str(tmp_path)) == MetaProperties(0, CLUSTER, 7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version=2", r"meta\.properties:1: version: 2 is unknown; it is 0 or 1"),
        ("version=x", r'meta\.properties:1: version: "x" is not a whole number'),
        (f"version=1\ncluster.id={CLUSTER}", r"meta\.properties: node\.id is missing"),
        ("version=1\nnode.id=1", r"meta\.properties: cluster\.id is missing"),
        ("#\nversion=1\nnode.id=one", r'meta\.properties:3: node\.id: "one" is not a whole number'),
        (
            f"version=1\nnode.id=1\ncluster.id={CLUSTER}\ndirectory.id=x",
            r"meta\.properties:4: directory\.id: .*no uuid",
        ),
    ],
)
def test_a_wrong_one_is_told_with_file_line_and_key(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "meta.properties").write_text(text)
    with pytest.raises(InputError, match=message):
        read_meta_properties(FILES, str(tmp_path))
