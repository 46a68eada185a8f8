"""The severe findings of the review of the first page (22 November 2026), each by its title, as they are now.

Those that need a browser are in tests/browser; the first test below says which finding has which.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.command_line import run_cli
from tests.fakes.screens import RUN, is_hidden, make_run
from workbench.engine.detached import plan_elsewhere
from workbench.store import Store
from workbench.store import events as ev
from workbench.views.run_view import load_run
from workbench.whatif.saved_scenarios import SavedScenarios
from workbench.widgets.home_page import Home
from workbench.widgets.run_page import Dashboard, dashboard


def opened(home: Path, **more: Any) -> Dashboard:
    return dashboard(load_run(home, RUN), **more)


@pytest.fixture
def command_home(tmp_path: Path) -> Path:
    make_run(tmp_path / "home")
    return tmp_path


#: Each severe finding by its title, with the beginning of the test that holds it, and where that is.
FINDINGS = {
    "S1. A page that lost its server ignores edits silently": (
        "browser",
        "test_s1_a_page_that_lost_its_server",
    ),
    "S1. Removing a proposition equals declaring it false; adding one does nothing; neither is said": (
        "widgets",
        "test_s1_removing_equals_declaring_false_and_adding_does_nothing",
    ),
    "S1. A run cannot be watched or started from the page": (
        "widgets",
        "test_s1_a_run_can_be_watched_and_started_from_the_page",
    ),
    'S1. A saved notebook reopens as "Error displaying widget: model not found"': (
        "browser",
        "test_s1_a_saved_notebook_reopens",
    ),
    "S2. Tab completion hides the API": ("widgets", "test_s2_tab_completion"),
    "S2. Failed runs become `last`": ("widgets", "test_s2_failed_runs_do_not_become_last"),
    "S2. Unsaved edits vanish on reload; no undo": ("widgets", "test_s2_edits_do_not_vanish_on_reload"),
    "S2. Scenarios are write-only on the page": ("widgets", "test_s2_scenarios_are_opened"),
    "S2. No report for a boss": ("widgets", "test_s2_there_is_a_report_for_a_boss"),
    "S2. Phone layout": ("browser", "test_s2_phone_layout"),
}


@pytest.mark.parametrize(("title", "held"), FINDINGS.items())
def test_each_severe_finding_has_a_test_of_its_severity_and_title(title: str, held: tuple[str, str]) -> None:
    room, name = held
    tests = Path(__file__).resolve().parents[1]
    found = [
        path.name
        for path in (tests / room).glob("test_*.py")
        if re.search(rf"^(async )?def {name}\w*\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert len(found) == 1 and name.startswith(f"test_{title[:2].lower()}_"), title


def test_s1_removing_equals_declaring_false_and_adding_does_nothing_is_said(command_home: Path) -> None:
    removed = run_cli(command_home, "whatif", RUN, "--remove", "P3")
    assert "P3 drops out, worth −33.3 points" in removed.stderr and "as if it were false" in removed.stderr
    added = run_cli(
        command_home, "whatif", RUN, "--add", "P0, Negative=A trade war breaks out", "--set", "P4=0.6"
    )
    assert "P4 has weight 0, so it moves nothing: give it one, --weight P4=0.2" in added.stderr


@pytest.mark.long
def test_s1_a_run_can_be_watched_and_started_from_the_page(tmp_path: Path) -> None:
    page = Home(tmp_path)
    assert page.plan.disabled  # a form, and nothing to plan yet
    page.claim.value = "VIX closes above 20 on 2018-12-31"
    page.cutoff.value = "2018-11-01"
    assert not page.plan.disabled and page.line.value == ""
    page.poller.stop()
    run_id = plan_elsewhere(tmp_path, "VIX closes above 20 on 2018-12-31", "2018-11-01", [])
    shown = dashboard(load_run(tmp_path, run_id))
    assert not is_hidden(shown.working.ground) and shown.working.ground.description == "Collect evidence"
    store = Store(tmp_path)
    store.append(run_id, ev.LeafStarted(node="P1", trial=1, attempt=1))
    store.close()
    shown.look()
    assert "begun" in {mark["name"] for mark in shown.session.rows["P1"]["marks"]}
    shown.poller.stop()


def test_s2_tab_completion_shows_the_api() -> None:
    assert {name for name in dir(wb) if not name.startswith("_")} == set(wb.__all__) - {"__version__"}
    assert {"sensitivity", "scenarios", "audit", "verify", "export", "ways_to_reach"} <= set(dir(wb.Analysis))


def test_s2_failed_runs_do_not_become_last(command_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    words = ("A claim holds", "--cutoff", "2018-06-30", "--model", "anthropic/claude-sonnet-4-5")
    assert run_cli(command_home, "analyze", *words).returncode == 2
    assert [row["run_id"] for row in json.loads(run_cli(command_home, "runs", "--json").stdout)] == [RUN]
    assert json.loads(run_cli(command_home, "show", "last", "--json").stdout)["run_id"] == RUN


def test_s2_edits_do_not_vanish_on_reload_and_are_undone(home: Path) -> None:
    page = opened(home)
    page.session.edit("P2.1", "0.1")
    page.keeper.flush()
    again = opened(home)
    assert again.session.values == {"P2.1": 0.1}
    page.side_panels.undo.click()
    page.keeper.flush()
    assert page.session.now.after == page.session.base.root.p and opened(home).session.edits == ()


def test_s2_scenarios_are_opened_edited_weighed_annotated_renamed_copied_and_closed_on_the_page(
    home: Path,
) -> None:
    page = opened(home)
    page.side_panels.author.value, page.side_panels.reason.value, page.side_panels.expires.value = (
        "Ann",
        "futures say so",
        "2099-01-01",
    )
    page.session.edit("P2.1", "0.1")
    book, saved = page.side_panels.book, SavedScenarios(home, RUN)
    book.name.value, book.rationale.value = "calm", "VIX stays low"
    book.save.click()
    stored = saved.scenario("calm")
    assert stored is not None and (stored.author, stored.rationale) == ("Ann", "VIX stays low")
    override = saved.table()["scenarios"][0]["overrides"][0]
    assert (override["author"], override["reason"], override["expires"][:4]) == (
        "Ann",
        "futures say so",
        "2099",
    )
    book.chosen.value, book.name.value = "calm", "calmer"
    book.copy.click()
    book.chosen.value, book.rationale.value = "calmer", "VIX stays lower"
    book.annotate.click()
    book.chosen.value, book.name.value = "calmer", "calmest"
    book.rename.click()
    table = {row["name"]: row for row in saved.table()["scenarios"]}
    assert table.keys() == {"calm", "calmest"} and table["calmest"]["rationale"] == "VIX stays lower"
    assert table["calmest"]["root"] == table["calm"]["root"]
    book.chosen.value = "calmest"
    book.opening.click()
    page.session.edit("P3", "0.5")
    page.keeper.flush()
    assert [edit.node for edit in saved.scenario("calmest").edits] == ["P2.1", "P3"]  # type: ignore[union-attr]
    book.name.value = "calm"
    book.copy.click()
    assert "is open already" in book.said.value or "there already" in book.said.value  # no name twice
    book.chosen.value = "calmest"
    book.closing.click()
    assert saved.scenario("calmest") is None and page.session.edits == ()


def test_what_is_chosen_stays_chosen_when_the_scenarios_change(home: Path) -> None:
    """On a slow page the list came after the line that said so, and took back what had been chosen meanwhile."""
    page = opened(home)
    page.session.edit("P2.1", "0.1")
    book = page.side_panels.book
    for name in ("calm", "storm", "bust"):
        book.name.value = name
        book.save.click()
    order: list[str] = []
    book.said.observe(lambda _change: order.append("said"), names=["value"])
    book.chosen.observe(lambda _change: order.append("list"), names=["options"])
    book.chosen.value, book.name.value = "storm", "a storm"
    book.rename.click()
    assert book.chosen.value == "a storm" and order == ["list", "said"]
    book.name.value = "aftermath"
    book.copy.click()
    assert book.chosen.value == "a storm" and order == ["list", "said"] * 2
    book.closing.click()
    assert book.chosen.value in {"calm", "bust", "aftermath"}


def test_s2_there_is_a_report_for_a_boss_with_drivers_scenarios_and_audit(command_home: Path) -> None:
    home = command_home / "home"
    page = opened(home)
    page.session.edit("P2.1", "0.1")
    page.side_panels.book.name.value, page.side_panels.book.rationale.value = "stress", "VIX above 30"
    page.side_panels.book.save.click()
    sent: list[tuple[Any, Any]] = []
    page.side_panels.taking.said.send = lambda content, buffers=None: sent.append((content, buffers))
    page.side_panels.taking.form.value = "note, HTML"
    page.side_panels.taking.take.click()
    content, (data,) = next((content, buffers) for content, buffers in sent if buffers)
    assert content == {"file": f"{RUN}.html", "media": "text/html"}
    out = command_home / "note.html"
    assert run_cli(command_home, "export", RUN, "-o", str(out)).returncode == 0
    assert out.read_bytes() == data  # the page's file is the command line's
    note = data.decode()
    for part in ("65.8%", "74.2%", "stress", "VIX above 30", "VIX closes at or below 20"):
        assert part in note
