"""A package is looked at without being taken in: checked as by an import, shown by our own pages, and no home is touched."""

import json
import webbrowser
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.command_line import run_cli, run_ok
from tests.engine.test_packages import honest, snapshot
from tests.fakes.hostile_packages import members_of, pack, with_notebook
from tests.fakes.small_run import RUN, make_small_run
from workbench.annotations.entries import add_comment, sign_off
from workbench.packages.export import export_run
from workbench.packages.package import import_package
from workbench.store import Store

__all__ = ["honest"]  # fixture

VICTIM = "20180101-000000-feed"
EVIL = b"<!doctype html><h1>EVIL NOTE: p = 99 %</h1><script>document.title = 'RAN'</script>"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder whose ``home`` holds another run."""
    make_small_run(tmp_path / "home", VICTIM)
    return tmp_path


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The pages that a browser was asked to open."""
    pages: list[Path] = []

    def open_page(address: str, *_: Any) -> bool:
        pages.append(Path(unquote(urlsplit(address).path)))
        return True

    monkeypatch.setattr(webbrowser, "open", open_page)
    return pages


def shown(place: Path, package: bytes, *options: str) -> Any:
    (place / "x.zip").write_bytes(package)
    return run_cli(place, "show", "x.zip", *options)


def below(folder: Path) -> dict[str, tuple[int, bytes | None]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mode, path.read_bytes() if path.is_file() else None)
        for path in sorted(folder.rglob("*"))
    }


def test_it_is_shown_and_the_home_keeps_its_bytes(
    honest: bytes, place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    temporary = tmp_path_factory.mktemp("tmp")
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", None)
    before = below(place / "home")
    done = shown(place, honest)
    assert done.returncode == 0, done.stderr
    assert "Not imported, unsigned: made elsewhere" in done.stdout and "Imported" not in done.stdout
    assert "The first reason holds by 2030" in done.stdout and RUN in done.stdout
    document = json.loads(shown(place, honest, "--json").stdout)
    assert below(place / "home") == before and list(temporary.iterdir()) == []
    assert run_cli(place, "show", RUN).returncode == 2  # it is no run of this home
    # the control: what an import shows, but for what lies in the home
    taken = run_cli(place, "import", "x.zip", "--json")
    there = json.loads(taken.stdout)
    assert below(place / "home") != before
    del there["imported"]["at_utc"], document["imported"]["at_utc"]
    assert there.pop("folder") and document.pop("folder") is None
    assert [bool(node.pop("notebook")) for node in there["nodes"]] == [False, True, True]
    assert [node.pop("notebook") for node in document["nodes"]] == [None] * 3
    assert document == there


def test_it_needs_no_home_and_makes_none(honest: bytes, tmp_path: Path) -> None:
    done = shown(tmp_path, honest)
    assert done.returncode == 0 and not (tmp_path / "home").exists()
    (tmp_path / "home").mkdir(mode=0o500)
    assert shown(tmp_path, honest).returncode == 0 and list((tmp_path / "home").iterdir()) == []


def test_a_page_in_a_package_is_refused_and_the_note_that_is_opened_is_ours(
    honest: bytes, place: Path, opened: list[Path]
) -> None:
    done = shown(place, pack({**members_of(honest), "report.html": EVIL}), "--open")
    assert done.returncode == 2 and "'report.html', which is no file of a run" in done.stderr and not opened
    assert run_cli(place, "import", "x.zip").returncode == 2
    done = shown(place, honest, "--open")
    assert done.returncode == 0, done.stderr
    (page,) = opened
    try:
        assert str(page) in done.stderr
        assert page.stat().st_mode & 0o077 == 0 or page.parent.stat().st_mode & 0o077 == 0
        text = page.read_text()
    finally:
        page.unlink()
        page.parent.rmdir()
    assert "<script" not in text and "The first reason holds by 2030" in text
    assert "default-src 'none'" in text and "Not imported, unsigned" in text


def test_what_an_import_refuses_is_not_shown(honest: bytes, place: Path, opened: list[Path]) -> None:
    before = snapshot(place)
    hidden = honest[: honest.find(b"PK\1\2")] + b"\0" + honest[honest.find(b"PK\1\2") :]
    for strange in (hidden, honest[:-30], b"not a zip", pack({**members_of(honest), "run/.bashrc": b""})):
        done = shown(place, strange, "--open")
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr
    altered = pack(with_notebook(members_of(honest), lambda book: book["cells"][1].update(source="print(2)")))
    done = shown(place, altered, "--open")
    assert done.returncode == 6 and "differs   P1 notebook cell-002" in done.stdout
    assert "The first reason holds by 2030" not in done.stdout
    done = shown(place, altered, "--json")
    assert done.returncode == 6 and json.loads(done.stdout)["differing"]
    (place / "x.zip").unlink()
    for name in ("x.zip", "no.zip", "x" * 300 + ".zip", "home/.zip"):
        done = run_cli(place, "show", name)
        assert done.returncode == 2 and "no file" in done.stderr
    assert opened == [] and snapshot(place) == before


def test_a_review_is_shown_before_it_is_taken(place: Path, tmp_path: Path) -> None:
    with closing(Store(place / "home")) as author, closing(Store(tmp_path / "colleague")) as reviewer:
        (place / "sent.zip").write_bytes(export_run(author, VICTIM, "zip")[0])
        import_package(reviewer, place / "sent.zip")
        add_comment(reviewer, VICTIM, "P2", "too thin", author="Bo")
        sign_off(reviewer, VICTIM, author="Bo", done=["all"])
        back = export_run(reviewer, VICTIM, "zip")[0]
    done = shown(place, back)
    assert "too thin" in done.stdout and "Accepted by Bo" in done.stdout and "Not imported" in done.stdout
    assert "too thin" not in run_cli(place, "show", VICTIM).stdout
    run_ok(place, "import", "x.zip", "--review")
    assert "too thin" in run_cli(place, "show", VICTIM).stdout


def test_a_note_stands_beside_a_package_and_never_in_it(place: Path) -> None:
    done = run_cli(place, "export", VICTIM, "-o", "run.zip", "--note", "notes/run.html", "--sign")
    assert done.returncode == 2  # no key: nothing is written at all
    assert not (place / "run.zip").exists() and not (place / "notes").exists()
    done = run_cli(place, "export", VICTIM, "-o", "run.zip", "--note", "notes/run.html")
    assert done.returncode == 0, done.stderr
    assert "beside the package and not in it" in done.stderr
    assert {name.partition("/")[0] for name in members_of((place / "run.zip").read_bytes())} == {
        "run.db",
        "run",
    }
    note = (place / "notes" / "run.html").read_text()
    alone = run_cli(place, "export", VICTIM, "--to", "html").stdout
    assert note == alone.removesuffix("\n") or note == alone
    without = run_cli(place, "export", VICTIM, "-o", "plain.zip")
    assert "beside" not in without.stderr
    assert set(members_of((place / "plain.zip").read_bytes())) == set(
        members_of((place / "run.zip").read_bytes())
    )
    for words in (
        ("-o", "x.html", "--note", "y.html"),
        ("-o", "x.zip", "--note", "y.csv"),
        ("-o", "x.zip", "--note", "y"),
    ):
        done = run_cli(place, "export", VICTIM, *words)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
        assert not any((place / name).exists() for name in ("x.html", "x.zip", "y.html", "y.csv", "y"))
