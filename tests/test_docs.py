"""Links of the manual lead somewhere, the manual stays small, and every page that the code names is there."""

import re
from pathlib import Path

from benchmarks.size import broken_links, manual, manual_pages

ROOT = Path(__file__).resolve().parents[1]
#: What the manual may take, generated reference apart.
MOST_PAGES, MOST_BYTES = 45, 250_000


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    broken = {page.name: broken_links(page, page.read_text(encoding="utf-8")) for page in manual_pages(ROOT)}
    assert {name: targets for name, targets in broken.items() if targets} == {}


def test_a_broken_link_is_seen() -> None:
    page = ROOT / "README.md"
    text = "# Top\n[a](docs/nothing.md#x) [b](SECURITY.md) [c](https://example.org) [d](SECURITY.md#no) [e](#top)"
    assert broken_links(page, text) == ["docs/nothing.md", "SECURITY.md#no"]


def test_the_manual_fits_its_bounds() -> None:
    counted = manual(ROOT)
    assert counted["pages"] <= MOST_PAGES and counted["bytes"] <= MOST_BYTES, counted


def test_every_page_that_the_code_names_is_there() -> None:
    rooms = ("workbench", "proxies", "sandbox", "kernels", "notebooks", "tests", "benchmarks")
    files = [
        path
        for room in rooms
        for path in (ROOT / room).rglob("*")
        if path.suffix in (".py", ".yaml", ".ipynb") and path.name not in ("test_manual.py", "test_docs.py")
    ]
    named = {
        (path.name, name)
        for path in [*files, ROOT / "pyproject.toml", ROOT / "Makefile"]
        for name in re.findall(r"docs/[\w/-]+\.\w+", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 10
    assert [(file, name) for file, name in sorted(named) if not (ROOT / name).exists()] == []
