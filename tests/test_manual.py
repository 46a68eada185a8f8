"""The manual: every page of it has a place, its reference is whole, and it is built without a warning and fetches nothing."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from proxies.catalogue import load_catalogue
from tests.command_line import cli_environment, run_cli
from workbench import manual, reference
from workbench.cli.commands import LISTED
from workbench.cli.main import app
from workbench.cli.servers import manual_server
from workbench.engine.named_settings import settings_by_name
from workbench.errors import UsageError

ROOT = Path(__file__).resolve().parents[1]
WORDS = st.text(
    st.characters(blacklist_characters="[]()`#\r\n", blacklist_categories=["Cs", "Cc"]), min_size=1
)


def leaf_commands(found: Any, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every listed command, by its words."""
    inner = getattr(found, "commands", None)
    if not inner:
        return [words]
    return [
        leaf
        for name in inner
        if words or name in LISTED
        for leaf in leaf_commands(inner[name], (*words, name))
    ]


def test_the_reference_names_every_command_setting_public_name_and_endpoint() -> None:
    pages = reference.reference_pages()
    commands = "\n".join(text for name, text in pages.items() if "commands" in name)
    for words in leaf_commands(typer.main.get_command(app)):
        assert f"# `{' '.join(words)}`\n" in commands, words
    assert [
        name for name in settings_by_name() if f"| `{name}` |" not in pages["reference/settings.md"]
    ] == []
    assert {change for e in load_catalogue() for change in e.as_of.open_to} <= set(reference.UNDATED_WORDS)
    assert all(f"`{e.path.partition('/')[2]}`" in pages["reference/endpoints.md"] for e in load_catalogue())
    public = [name for name in wb.__all__ if not name.startswith("__")]
    assert [name for name in public if f"## `{name}`" not in pages["reference/python.md"]] == []


@given(WORDS, WORDS)
def test_a_link_leads_to_where_its_page_stands_now(text: str, plain: str) -> None:
    files = {"docs/cutoff.md": ROOT, "docs/a/README.md": ROOT, "notebooks/x.ipynb": ROOT, "SECURITY.md": ROOT}
    page = f"{plain} [{text}](docs/cutoff.md#x) ![{text}](docs/a) [{text}](tests/no.py) [{text}](https://x.org/a)"
    assert manual.with_links(page, "README.md", files) == (
        f"{plain} [{text}](cutoff.md#x) ![{text}](a/README.md) {text} [{text}](https://x.org/a)"
    )
    below = f"[{text}](../../SECURITY.md) [{text}](../../notebooks/x.ipynb)\n```\n[a](../../x)\n```\n"
    assert manual.with_links(below, "docs/a/b.md", files) == (
        f"[{text}](../SECURITY.md) [{text}](../tutorials/x.md)\n```\n[a](../../x)\n```\n"
    )


def test_every_page_has_a_place_in_the_navigation(tmp_path: Path) -> None:
    manual.write_pages(ROOT, tmp_path, {"new/page.md": "# New\n"})
    settings = json.loads((tmp_path / "mkdocs.yml").read_text())
    places = re.findall(r'"([\w./-]+\.md)"', json.dumps(settings["nav"]))
    there = {path.relative_to(tmp_path / "pages").as_posix() for path in (tmp_path / "pages").rglob("*.md")}
    assert sorted(places) == sorted(there)
    assert "new/page.md" in settings["nav"][-1]["More"]


def test_what_the_pages_are_made_of_decides_whether_they_are_built_anew(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/mkdocs.yml").write_text("nav: []\n")
    seen = {manual.contents_hash(tmp_path, "code")}
    (tmp_path / "docs/a.md").write_text("# A\n")
    seen.add(manual.contents_hash(tmp_path, "code"))
    (tmp_path / "docs/mkdocs.yml").write_text("nav: [a.md]\n")
    seen |= {manual.contents_hash(tmp_path, "code"), manual.contents_hash(tmp_path, "other code")}
    assert len(seen) == 4


def test_without_its_builder_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manual_server, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"not installed: pip install 'analyst-workbench\[docs\]'$"):
        manual_server.require_builder()


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    done = run_cli(tmp_path, "docs", str(tmp_path))
    assert done.returncode == 2 and "not empty: name a new folder" in done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A home and the finished pages."""
    if find_spec("material") is None:
        pytest.skip("mkdocs-material is not installed here")
    folder = tmp_path_factory.mktemp("manual")
    done = run_cli(folder, "docs", str(folder / "site"))
    assert done.returncode == 0 and "Building the manual" in done.stderr, done.stderr
    return folder, folder / "site"


@pytest.mark.long
def test_the_manual_is_built_without_a_warning_and_fetches_nothing(built: tuple[Path, Path]) -> None:
    home, site = built
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    fetched = re.compile(r"""<(?:script|link|img|iframe)[^>]*(?:src|href)=["']?(?:https?:)?//[^>]*>""")
    assert [
        (page.name, found) for page in pages for found in fetched.findall(page.read_text(encoding="utf-8"))
    ] == []
    again = run_cli(home, "docs", str(home / "again"))
    assert "Building" not in again.stderr and (home / "again/index.html").is_file()


@pytest.mark.long
def test_a_page_with_a_dead_link_is_no_manual(built: tuple[Path, Path], tmp_path: Path) -> None:
    manual.write_pages(ROOT, tmp_path, reference.reference_pages())
    (tmp_path / "pages/cutoff.md").write_text("# Data\n\n[nowhere](nowhere.md)\n")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-s", "-f", str(tmp_path / "mkdocs.yml")],
        capture_output=True,
        text=True,
    )
    assert done.returncode and "nowhere.md" in done.stderr


@pytest.mark.long
def test_the_manual_is_shown_to_its_own_pages_only(built: tuple[Path, Path], tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "workbench.cli.main", "docs", "--port", "0"],
        env=cli_environment(built[0]),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        try:
            with urllib.request.urlopen(address) as page:
                assert b"Analyst Workbench" in page.read()
            port = int(address.rstrip("/").rpartition(":")[2])
            own = f"127.0.0.1:{port}"
            for method, place, headers, status in (
                ("GET", "/", ["Host: evil.example"], 403),
                ("HEAD", "/", ["Host: evil.example"], 403),
                ("HEAD", "/", [f"Host: {own}"], 200),
                ("HEAD", "/", [f"Host: {own}", "Origin: https://evil.example"], 403),
                ("GET", "/", [f"host: {own}", "origin: https://evil.example"], 403),
                ("GET", "/", [f"Host: {own}", "Host: evil.example"], 403),
                ("GET", "/", [f"Host: {own}", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"], 403),
                ("GET", "/assets/", [f"Host: {own}"], 404),
                ("GET", "/../../workbench.db", [f"Host: {own}"], 404),
                ("GET", "/%2e%2e/%2e%2e/workbench.db", [f"Host: {own}"], 404),
                ("POST", "/", [f"Host: {own}"], 501),
            ):
                with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
                    line.sendall("\r\n".join([f"{method} {place} HTTP/1.0", *headers, "", ""]).encode())
                    said = b"".join(iter(lambda line=line: line.recv(65_536), b""))
                assert int(said.split()[1]) == status, (method, place, headers, said[:200])
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(20) == 0
    assert os.listdir(tmp_path) == []
