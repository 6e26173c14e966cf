"""Prepare the sources of the documentation site in build/docs-src; `make docs` then builds it with MkDocs.

The site consists of the README as its home page, all pages of docs/, the contributor pages, the examples, and an API
reference with one page for each public package. Links are adapted to the new positions: a link to a file that is not
part of the site becomes plain text, since the site has no address of the repository.

The reference lists the names in the `__all__` of each public package. They are read from the source, so that nothing
has to be imported or installed.
"""

import ast
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SITE = ROOT / "build" / "docs-src"

#: Pages at the root of the repository, and their names on the site.
ROOT_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}

#: Packages of the API reference. One that does not exist in the source tree is left out.
PACKAGES = (
    "odradek.client",
    "odradek.client.blocking",
    "odradek.client.errors",
    "odradek.service",
    "odradek.testing",
    "odradek.spark",
    "odradek.spark.formats",
    "odradek.spark.dead_letters",
    "odradek.errors",
)

_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def main() -> int:
    shutil.rmtree(SITE, ignore_errors=True)
    pages = site_pages()
    for source, target in pages.items():
        destination = SITE / target
        destination.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            destination.write_text(adapted(source, target, pages))
        else:
            shutil.copy(source, destination)
    write_reference()
    return 0


def site_pages() -> dict[Path, str]:
    """Return the position on the site of each file that is part of it."""
    pages = {ROOT / name: target for name, target in ROOT_PAGES.items()}
    pages |= {path: path.name for path in (ROOT / "docs").iterdir() if path.suffix in (".md", ".svg")}
    examples = ROOT / "examples"
    pages |= {path: str(path.relative_to(ROOT)) for path in examples.rglob("*") if path.suffix in (".md", ".py")}
    return pages


def adapted(source: Path, target: str, pages: dict[Path, str]) -> str:
    """Return the text of a page with its links adapted, except in code blocks."""

    def link(match: re.Match[str]) -> str:
        image, text, address = match.groups()
        name, _, heading = address.partition("#")
        if "://" in address or not name:
            return match[0]
        path = Path(os.path.normpath(source.parent / name))
        page = pages.get(path) or pages.get(path / "README.md")
        if page is None:
            return text
        relative = os.path.relpath(page, Path(target).parent)
        return f"{image}[{text}]({relative}{'#' + heading if heading else ''})"

    text = source.read_text()
    parts: list[str] = []
    position = 0
    for fence in _FENCE.finditer(text):
        parts += (_LINK.sub(link, text[position : fence.start()]), fence[0])
        position = fence.end()
    return "".join((*parts, _LINK.sub(link, text[position:])))


def write_reference() -> None:
    directory = SITE / "reference"
    directory.mkdir()
    listed = []
    for package in PACKAGES:
        path = source_of(package)
        if path is None:
            continue
        page = f"{package.removeprefix('odradek.')}.md"
        listed.append(f"- [{package}]({page})")
        (directory / page).write_text("\n".join(reference(package, path)) + "\n")
    head = "# API reference\n\nThe public names of Odradek. All other modules and names are private.\n\n"
    (directory / "index.md").write_text(head + "\n".join(listed) + "\n")


def source_of(package: str) -> Path | None:
    path = ROOT / "src" / Path(*package.split("."))
    return next((found for found in (path / "__init__.py", path.with_suffix(".py")) if found.exists()), None)


def reference(package: str, path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    yield f"# {package}\n"
    yield f"{ast.get_docstring(tree) or ''}\n"
    for name in sorted(public_names(tree), key=str.lower):
        if source_of(f"{package}.{name}") is None:  # a module has a page of its own
            yield f"::: {package}.{name}\n"


def public_names(tree: ast.Module) -> list[str]:
    """Return the names of `__all__`; without one, all functions and classes that are not private."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return [str(name) for name in ast.literal_eval(node.value)]
    definitions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return [node.name for node in definitions if not node.name.startswith("_")]


if __name__ == "__main__":
    sys.exit(main())
