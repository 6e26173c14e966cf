"""`odradek service run`: which service is meant, and what is said of places where there is none."""

import sys
from pathlib import Path

import pytest

from odradek.cli.commands.service import find_service, progress_text
from odradek.common.failures import InputError
from odradek.service.counters import Ending

_SHOP = """
from odradek.service import Service
app, other = Service("a"), Service("b")
same = app
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Modules are looked for here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def test_a_service_by_its_name(here: Path) -> None:
    (here / "found_shop.py").write_text(_SHOP)
    assert find_service("found_shop:other").name == "b"


def test_the_only_service_needs_no_name(here: Path) -> None:
    (here / "only_shop.py").write_text(_SHOP.replace("app, other = ", "app = ").replace(', Service("b")', ""))
    assert find_service("only_shop").name == "a"


@pytest.mark.parametrize(
    ("place", "text", "said"),
    [
        ("nowhere:app", None, "module nowhere is neither in .* nor installed. Expected MODULE:APP"),
        ("shop1:ap", _SHOP, "shop1 has no ap; available: shop1:app, shop1:other, shop1:same"),
        ("shop2", _SHOP, "shop2: pass MODULE:APP; available: shop2:app"),
        ("shop3:Service", _SHOP, "shop3:Service is of type type, not odradek.service.Service"),
        ("shop4:app", "", "shop4 has no app; it has no Service"),
        ("shop5:app", "import nowhere_else", "shop5: No module named 'nowhere_else'; is it installed"),
        ("shop6:app", "x = 1\n1 / 0", r"shop6 cannot be imported: ZeroDivisionError: .*shop6\.py:2"),
        ("shop7:app", "1 +", "shop7 cannot be imported: SyntaxError"),
        (
            "shop8:app",
            "from odradek.service import Service\nService('a', transactional_id='t')",
            "shop8: transactional_id needs exactly_once",
        ),
    ],
)
def test_places_where_there_is_none(here: Path, place: str, text: str | None, said: str) -> None:
    if text is not None:
        (here / f"{place.partition(':')[0]}.py").write_text(text)
    with pytest.raises(InputError, match=said):
        find_service(place)


def test_the_line_that_tells_how_far_it_is(here: Path) -> None:
    (here / "line_shop.py").write_text(_SHOP)
    app = find_service("line_shop:app")
    assert progress_text(app) == "handled 0"
    figures = app.figures.of("orders")
    figures.endings |= {Ending.HANDLED: 12_345, Ending.DEAD: 2, Ending.MOVED: 3}
    figures.failed_attempts = 5
    assert progress_text(app) == "handled 12,345, failed attempts 5, to retry topics 3, dead 2"
