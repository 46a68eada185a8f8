"""The pages of the manual, put together: Markdown from ``docs/`` and the top folder, notebooks, links led to their new places."""

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from proxies import yaml_text
from proxies.hashing import content_hash, sha256_of_file
from workbench.errors import UsageError

#: Files of the top folder that are pages of the manual.
TOP_PAGES = ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")
CONFIGURATION = "docs/mkdocs.yml"
_SUFFIXES = {".md", ".png", ".svg", ".css", ".yaml", ".txt"}
_FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)#\s]*)(?P<anchor>#[^)\s]*)?\)")


def manual_sources() -> Path:
    """Return the folder that holds ``docs``, ``notebooks`` and ``README.md``: the checkout's, else the installed one.

    Raises
    ------
    UsageError
        Neither is there.
    """
    places = (Path(__file__).resolve().parents[1], Path(sys.prefix) / "share" / "analyst-workbench")
    for place in places:
        if (place / CONFIGURATION).is_file():
            return place
    raise UsageError(f"the manual is not installed under {places[1]}: install analyst-workbench again")


def source_files(sources: Path) -> dict[str, Path]:
    """Return every file of the manual, by its place in the sources: ``docs/trust/cutoff.md``, ``notebooks/tutorial.ipynb``."""
    files = {name: sources / name for name in TOP_PAGES if (sources / name).is_file()}
    for path in sorted((sources / "docs").rglob("*")):
        if path.suffix in _SUFFIXES and path.is_file():
            files[path.relative_to(sources).as_posix()] = path
    # The notebook of the dashboard is a program, not a page.
    for path in sorted((sources / "notebooks").glob("*.ipynb")):
        if path.stem == "dashboard":
            continue
        files[path.relative_to(sources).as_posix()] = path
    return files


def contents_hash(sources: Path, code: str) -> str:
    """Return one hash over all that a manual is made of; ``code`` is the hash of the code that its reference is made from."""
    files = {name: sha256_of_file(path) for name, path in source_files(sources).items()}
    files[CONFIGURATION] = sha256_of_file(sources / CONFIGURATION)
    return content_hash({"code": code, "files": files})


def page_of(name: str) -> str:
    """Return the place of a file in the manual.

    >>> page_of("README.md"), page_of("docs/trust/cutoff.md"), page_of("notebooks/tutorial.ipynb")
    ('index.md', 'trust/cutoff.md', 'tutorials/tutorial.md')
    """
    if name == "README.md":
        return "index.md"
    if name.startswith("notebooks/"):
        return f"tutorials/{PurePosixPath(name).stem}.md"
    return name.removeprefix("docs/")


def with_links(text: str, name: str, files: Mapping[str, Path]) -> str:
    """Return a page with its links led to the places of the manual; one that leads to no page there becomes its words.

    Parameters
    ----------
    text : str
        Markdown.
    name : str
        Where the page stands in the sources.
    files : mapping
        Every file of the manual, by its place in the sources.
    """
    folder = PurePosixPath(page_of(name)).parent

    def led(match: re.Match[str]) -> str:
        target, anchor = match["target"], match["anchor"] or ""
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        place = os.path.normpath(PurePosixPath(name).parent / target)
        place = f"{place}/README.md" if f"{place}/README.md" in files else place
        if place not in files:
            return match["text"]
        path = os.path.relpath(page_of(place), folder)
        return f"{match['picture']}[{match['text']}]({path}{anchor})"

    # Every other piece is a fenced block, in which nothing is a link.
    pieces = _FENCE.split(text)
    return "".join(piece if number % 2 else _LINK.sub(led, piece) for number, piece in enumerate(pieces))


def notebook_page(document: Mapping[str, Any]) -> str:
    """Return a notebook as Markdown: its texts, and its cells as code."""
    parts = []
    for cell in document["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
    return "\n\n".join(parts) + "\n"


def write_pages(sources: Path, folder: Path, reference: Mapping[str, str]) -> None:
    """Write the manual's pages and its configuration into an empty folder: what ``mkdocs build`` takes.

    Parameters
    ----------
    sources : Path
        What `manual_sources` returns.
    folder : Path
        ``mkdocs.yml`` and ``pages/`` are written into it.
    reference : mapping of str to str
        Pages made from the code, by their place in the manual.
    """
    files = source_files(sources)
    for name, path in files.items():
        place = folder / "pages" / page_of(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            place.write_text(with_links(path.read_text(encoding="utf-8"), name, files), encoding="utf-8")
        elif path.suffix == ".ipynb":
            text = notebook_page(json.loads(path.read_bytes()))
            place.write_text(with_links(text, name, files), encoding="utf-8")
        else:
            shutil.copyfile(path, place)
    for name, text in reference.items():
        place = folder / "pages" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    settings = yaml_text.parse_yaml((sources / CONFIGURATION).read_text(encoding="utf-8"), CONFIGURATION)
    navigation = whole_navigation(settings["nav"], folder / "pages")
    there = [
        path.relative_to(folder / "pages").as_posix() for path in sorted((folder / "pages").rglob("*.md"))
    ]
    # A page that nobody gave a place is shown all the same.
    unlisted = sorted({*there} - {*_places(navigation)})
    settings["nav"] = [*navigation, *([{"More": unlisted}] if unlisted else [])]
    settings["docs_dir"], settings["site_dir"] = "pages", "site"
    # JSON is YAML, and MkDocs reads it.
    (folder / "mkdocs.yml").write_text(json.dumps(settings, indent=1), encoding="utf-8")


def whole_navigation(entries: list[Any], pages: Path) -> list[Any]:
    """Return a navigation whose folders (``data/``) are replaced by their pages."""
    whole: list[Any] = []
    for entry in entries:
        if isinstance(entry, dict):
            ((title, inner),) = entry.items()
            if isinstance(inner, str) and inner.endswith("/"):
                whole.append({title: _pages_below(pages, inner)})
            else:
                whole.append(
                    {title: whole_navigation(inner, pages)} if isinstance(inner, list) else {title: inner}
                )
        else:
            whole.append(entry)
    return whole


def _places(entries: list[Any]) -> list[str]:
    places: list[str] = []
    for entry in entries:
        inner = next(iter(entry.values())) if isinstance(entry, dict) else entry
        places += _places(inner) if isinstance(inner, list) else [inner]
    return places


def _pages_below(pages: Path, folder: str) -> list[str]:
    return [f"{folder}{path.name}" for path in sorted((pages / folder).glob("*.md"))]
