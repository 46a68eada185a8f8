"""Links lead somewhere, and decisions have one form."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "SECURITY.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


def dead_links(page: Path, text: str) -> list[str]:
    """Relative links and pictures of a page that lead to no file."""
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", re.sub(r"`[^`]*`", "", text))
    return [
        target for target in targets if "://" not in target and not (page.parent / target).resolve().exists()
    ]


def test_every_link_leads_to_a_file() -> None:
    dead = {page.name: dead_links(page, page.read_text(encoding="utf-8")) for page in PAGES}
    assert {name: targets for name, targets in dead.items() if targets} == {}


def test_a_dead_link_is_seen() -> None:
    page = ROOT / "README.md"
    assert dead_links(page, "[a](docs/nothing.md#x) [b](docs/data.md) [c](https://example.org)") == [
        "docs/nothing.md"
    ]


def test_the_readme_leads_to_every_manual() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"docs/{page.name}" not in text] == []
