"""A stranger's package: nothing of it lands outside its run, chooses where code runs, or comes in half."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperCommand

from sandbox import IsolationUnavailable, Sandbox
from sandbox.cell_library import CellLibrary
from sandbox.errors import KernelStartFailed
from sandbox.kernels import probe
from sandbox.types import IsolationReport, SessionSpec
from tests.command_line import run_cli, run_ok
from tests.fakes.hostile_packages import (
    hostile_packages,
    members_of,
    pack,
    with_notebook,
    with_settings,
    with_sql,
)
from tests.fakes.small_run import RUN, SOURCE, make_small_run
from workbench.cli.operation_command import command_of
from workbench.cli.servers.lab import lab_environment
from workbench.formatting import sandbox_words
from workbench.operations.packages import Import
from workbench.packages.export import export_run
from workbench.packages.package import import_run
from workbench.store import Store
from workbench.store import events as ev

VICTIM = "20180101-000000-feed"

import_file = command_of(Import)


def packed(home: Path, **options: Any) -> bytes:
    """A package of the small run, exported from a home of its own."""
    make_small_run(home, **options)
    store = Store(home)
    try:
        return export_run(store, RUN, "zip")[0]
    finally:
        store.close()


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return packed(tmp_path_factory.mktemp("honest"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder whose ``home`` holds a run already, the one that forged rows are aimed at."""
    make_small_run(tmp_path / "home", VICTIM)
    return tmp_path


def took_in(place: Path, package: bytes, *options: str) -> Any:
    (place / "x.zip").write_bytes(package)
    return run_cli(place, "import", "x.zip", *options)


def ok(place: Path, *arguments: str) -> str:
    done = run_ok(place, *arguments)
    return done


def snapshot(place: Path) -> tuple[dict[str, list[Any]], dict[str, tuple[int, bytes | None]]]:
    """Every row of the home, and every file beside and in it with its mode and content."""
    with closing(sqlite3.connect(place / "home" / "workbench.db")) as db:
        rows = {
            table: db.execute(f"SELECT * FROM {table}").fetchall()
            for table in ("events", "bodies", "model_calls", "api_calls")
        }
    files = {}
    for path in sorted(place.rglob("*")):
        name = path.name
        if name != "x.zip" and not name.endswith(("-wal", "-shm")):
            content = path.read_bytes() if path.is_file() and name != "workbench.db" else None
            files[str(path.relative_to(place))] = (path.lstat().st_mode, content)
    return rows, files


@pytest.mark.long
def test_a_corpus_of_hostile_packages_changes_nothing(
    place: Path, honest: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(place / "home"))
    before, names, contents, wrong = snapshot(place), set(), {sha256(honest).digest()}, []
    for hostile in hostile_packages(honest):
        names.add(hostile.name)
        contents.add(sha256(hostile.data).digest())
        (place / "x.zip").write_bytes(hostile.data)
        # the command itself: building the whole command line for each package would take most of the time
        with pytest.raises(typer.Exit) as ended:
            import_file(ctx=typer.Context(TyperCommand("import")), path=place / "x.zip")
        out, err = capsys.readouterr()
        lines, listed = err.splitlines(), out.splitlines()
        good = (
            ended.value.exit_code == hostile.code
            and len(lines) == 1
            and lines[0].startswith("workbench: ")
            and lines[0].isprintable()
            and all(line.startswith("differs   ") and line.isprintable() for line in listed)
            and (hostile.code == 6 or not listed)
        )
        if not good or snapshot(place) != before:
            wrong.append((hostile.name, ended.value.exit_code, out[-300:], err[-300:]))
            shutil.rmtree(place / "home")
            make_small_run(place / "home", VICTIM)
            before = snapshot(place)
    assert wrong == []
    # no two of them are the same, and none is the honest one
    assert len(contents) - 1 == len(names) >= 300
    assert took_in(place, honest).returncode == 0  # the neighbour is let through by the same home
    assert snapshot(place) != before
    assert json.loads(ok(place, "verify", RUN, "P1", "--json"))["verified"] is True


def test_an_honest_package_is_taken_in_and_verified_in_sealed_kernels(place: Path, honest: bytes) -> None:
    took = took_in(place, honest, "--json")
    assert took.returncode == 0 and json.loads(took.stdout)["run_id"] == RUN
    level = probe.probed().level
    assert level != "none"
    document = json.loads(ok(place, "verify", RUN, "--json"))
    assert document == {
        "verified": True, "proofs": 2, "cells": 4, "differing": [], "advisory": [], "unrepeatable": [], "isolation": level,
        "signed": None,
        "node": "P0", "p": 0.56, "recorded_p": 0.56, "drift": 0.0, "drifting": [],
    }  # fmt: skip
    assert sandbox_words(level) in ok(place, "verify", RUN, "P2")
    mode = (place / "home" / "runs" / RUN / "proofs").stat().st_mode & 0o777
    assert mode == (place / "home" / "runs" / VICTIM / "proofs").stat().st_mode & 0o777


def writer(canary: Path) -> str:
    """A cell that writes to the host where it can, and prints what the record says in either case."""
    return f"try:\n    open({str(canary)!r}, 'w').write('pwned')\nexcept OSError:\n    pass\n{SOURCE}"


def test_a_forged_level_never_yields_an_unsealed_kernel(
    place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    canary = tmp_path_factory.mktemp("host") / "canary"
    package = packed(tmp_path_factory.mktemp("forge"), source=writer(canary), level="none")
    assert took_in(place, package).returncode == 0
    assert "sandbox not sealed" in ok(place, "show", RUN)  # what the package says is shown
    assert json.loads(ok(place, "verify", RUN, "P1", "--json"))["isolation"] == probe.probed().level
    assert not canary.exists()
    # the control: only the person at this machine lowers it, and is told
    done = run_cli(place, "verify", RUN, "P1", "--isolation", "none")
    assert done.returncode == 0 and "unsealed" in done.stdout
    assert canary.read_text() == "pwned"


@pytest.mark.long
@pytest.mark.parametrize("option", [(), ("--isolation", "none")])
def test_a_resumed_run_starts_kernels_at_the_level_of_this_command_line(
    place: Path, monkeypatch: pytest.MonkeyPatch, option: tuple[str, ...]
) -> None:
    document = json.loads(
        ok(place, "analyze", "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29", "--cutoff", "2018-06-30", "--isolation", "none", "--plan-only", "--json")
    )  # fmt: skip
    run_id = document["run_id"]
    store = Store(place / "home")
    store.append(run_id, ev.RunSealed(isolation="none"))
    store.close()
    levels = set()

    async def refuse(self: Sandbox, spec: SessionSpec, call_api: Any) -> None:
        levels.add(spec.isolation)
        raise KernelStartFailed("no kernel in this test")

    monkeypatch.setattr(Sandbox, "open", refuse)
    done = run_cli(place, "resume", run_id, *option)
    assert done.returncode == 4, done.stderr
    level = option[-1] if option else probe.probed().level
    assert levels == {level}
    store = Store(place / "home")
    sealed = [row.event for row in store.events(run_id) if isinstance(row.event, ev.RunSealed)]
    store.close()
    assert [event.isolation for event in sealed] == ["none", level]  # the change is on record


@pytest.fixture
def unsealable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    report = IsolationReport(level="none", available=("none",), refused=("namespaces: no", "landlock: no"))
    monkeypatch.setattr("sandbox.manager.probed", lambda: report)
    yield


@pytest.mark.usefixtures("unsealable")
def test_where_no_sealed_level_works_the_line_names_the_way_out(place: Path, honest: bytes) -> None:
    assert took_in(place, honest).returncode == 0
    claim = ("The S&P 500 closes higher on 2018-12-31 than on 2018-06-29", "--cutoff", "2018-06-30")
    for words in (
        ("verify", RUN),
        ("analyze", *claim),
        ("resume", "last"),
        ("verify", RUN, "--isolation", "namespaces"),
    ):
        done = run_cli(place, *words)
        assert done.returncode == 5, (words, done.stderr)
        assert "--isolation none" in done.stderr.splitlines()[-1]
    assert run_cli(place, "verify", RUN, "--isolation", "root").returncode == 2


def test_the_best_sealed_level_is_taken_and_never_none() -> None:
    both = IsolationReport(level="namespaces", available=("namespaces", "landlock", "none"))
    second = IsolationReport(level="landlock", available=("landlock", "none"), refused=("namespaces: no",))
    nothing = IsolationReport(level="none", available=("none",), refused=("namespaces: no", "landlock: no"))
    assert both.choose(None) == "namespaces" and second.choose(None) == "landlock"
    assert [report.choose("none") for report in (both, second, nothing)] == ["none"] * 3
    for report, asked in ((second, "namespaces"), (nothing, None), (both, "root")):
        with pytest.raises(IsolationUnavailable, match="--isolation none"):
            report.choose(asked)


def test_altered_evidence_is_listed_and_kept_only_when_asked_for_and_never_run(
    place: Path, honest: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    altered = pack(with_notebook(members_of(honest), lambda book: book["cells"][1].update(source="print(2)")))
    done = took_in(place, altered)
    assert done.returncode == 6 and "differs   P1 notebook cell-002" in done.stdout
    assert json.loads(took_in(place, altered, "--json").stdout)["imported"] is False
    assert run_cli(place, "show", RUN).returncode == 2
    done = took_in(place, altered, "--anyway")
    assert done.returncode == 0 and "altered" in done.stdout

    async def refuse(self: Sandbox, spec: SessionSpec, call_api: Any) -> None:
        raise AssertionError("a kernel was started for a run whose records differ")

    monkeypatch.setattr(Sandbox, "open", refuse)
    done = run_cli(place, "verify", RUN, "--json")
    assert done.returncode == 6
    result = json.loads(done.stdout)
    assert result["isolation"] is None
    assert {(row["node"], row["check"]) for row in result["differing"]} == {("P1", "notebook")}


LIBRARY = CellLibrary.of({"tools.sums": "def twice(rows):\n    return len(rows)\n"})
MEMBER = f"run/sessions/library-{LIBRARY.digest}.json"


@pytest.fixture(scope="module")
def with_library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    source = SOURCE.replace("print(len(rows))", "from tools.sums import twice\nprint(twice(rows))")
    return packed(tmp_path_factory.mktemp("library"), source=source, library=LIBRARY)


def test_the_source_that_cells_import_comes_along_and_is_mounted_again(
    place: Path, with_library: bytes
) -> None:
    assert members_of(with_library)[MEMBER] == LIBRARY.text
    assert took_in(place, with_library).returncode == 0
    document = json.loads(ok(place, "verify", RUN, "--json"))
    assert document["verified"] and document["isolation"] != "none"


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (b'{"tools.sums":"import os"}', 6, "was altered"),
        (None, 6, "cannot be read"),
        (b"", 6, "was altered"),
    ],
)
def test_a_changed_library_is_a_difference_and_is_never_mounted(
    place: Path, with_library: bytes, text: bytes | None, code: int, says: str
) -> None:
    members = {name: data for name, data in members_of(with_library).items() if name != MEMBER}
    done = took_in(place, pack(members if text is None else {**members, MEMBER: text}))
    assert done.returncode == code and "differs   P1 chain : the source that its cells import" in done.stdout
    assert says in done.stdout and run_cli(place, "show", RUN).returncode == 2


def test_a_library_that_is_none_is_refused_as_any_other_file(place: Path, with_library: bytes) -> None:
    members = members_of(with_library)
    other = b'{"../tools": ""}'
    named = f"run/sessions/library-{sha256(other).hexdigest()}.json"
    done = took_in(place, pack({**members, named: other}))
    assert done.returncode == 6 and "is no source of modules" in done.stdout
    for name in ("run/sessions/library-x.json", f"run/library-{LIBRARY.digest}.json"):
        assert took_in(place, pack({**members, name: LIBRARY.text})).returncode == 2


def test_an_altered_body_is_never_shared_with_the_runs_of_the_home(place: Path, honest: bytes) -> None:
    which = "(SELECT answer FROM api_calls LIMIT 1)"
    altered = with_sql(
        members_of(honest), f"UPDATE bodies SET data = CAST(data || ' ' AS BLOB) WHERE hash = {which}"
    )
    shutil.rmtree(place / "home" / "runs")
    (place / "home" / "workbench.db").unlink()
    done = took_in(place, pack(altered), "--anyway")
    assert done.returncode == 0, done.stderr
    # a run of this home that reads the same data files its own body
    make_small_run(place / "home", VICTIM)
    run_ok(place, "audit", VICTIM)
    ok(place, "runs")


def test_scenarios_come_along_into_a_home_that_counts_otherwise(
    place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("scenario")
    make_small_run(home, RUN)
    store = Store(home)
    run_ok(home.parent, "whatif", RUN, "--set", "P1=0.1", "--scenario", "bear", WORKBENCH_HOME=str(home))
    package = export_run(store, RUN, "zip")[0]
    store.close()
    assert took_in(place, package).returncode == 0
    (bear,) = json.loads(ok(place, "scenarios", RUN, "--json"))["scenarios"]
    assert bear["name"] == "bear"
    ok(place, "scenarios", RUN, "--undo", "bear")


def test_an_import_that_fails_at_its_last_step_leaves_the_home_as_it_was(
    place: Path, honest: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(place)
    real = Path.rename

    def fails(self: Path, target: Path) -> Path:
        if Path(target).parent == place / "home" / "runs":
            raise OSError(28, "No space left on device")
        return real(self, target)

    store = Store(place / "home")
    (place / "x.zip").write_bytes(honest)
    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(OSError, match="No space"):
        import_run(store, place / "x.zip")
    monkeypatch.undo()
    store.close()
    assert snapshot(place) == before
    assert took_in(place, honest).returncode == 0


def test_an_imported_run_cannot_send_requests_to_a_server_of_its_senders(place: Path, honest: bytes) -> None:
    members = with_sql(
        with_settings(members_of(honest), model="openai/x", api_base="http://127.0.0.1:9/v1"),
        "DELETE FROM events WHERE kind = 'run.finished'",
    )
    assert took_in(place, pack(members)).returncode == 0
    for words in (("resume", RUN), ("whatif", RUN, "--set", "P1=0.1", "--full", "--yes")):
        done = run_cli(place, *words, OPENAI_API_KEY="not-a-key")
        assert done.returncode == 2 and "127.0.0.1:9" in done.stderr, (words, done.stderr)


def test_a_folder_without_its_run_is_said_so_and_left_alone(place: Path, honest: bytes) -> None:
    left = place / "home" / "runs" / RUN
    left.mkdir()
    (left / "mine").write_text("x")
    done = took_in(place, honest)
    assert done.returncode == 2 and "move that folder away" in done.stderr
    assert (left / "mine").read_text() == "x"


def test_a_level_in_a_dotenv_file_does_not_reach_jupyterlab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANALYST_ISOLATION", "none")
    assert "ANALYST_ISOLATION" not in lab_environment()
    assert lab_environment("none")["ANALYST_ISOLATION"] == "none"
