"""Scenarios on the page: opened, weighed, renamed and chosen there, and in the report; a failed run is not the last one."""

from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli, run_json, run_ok
from tests.fakes.screens import RUN, asked
from workbench.views.run_view import load_run
from workbench.whatif.saved_scenarios import SavedScenarios
from workbench.widgets.run_page import Dashboard, dashboard


def opened(home: Path, **more: Any) -> Dashboard:
    return dashboard(load_run(home, RUN), **more)


def test_failed_runs_do_not_become_last(command_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    words = ("A claim holds", "--cutoff", "2018-06-30", "--model", "anthropic/claude-sonnet-4-5")
    assert run_cli(command_home, "analyze", *words).returncode == 2
    assert [row["run_id"] for row in run_json(command_home, "runs")] == [RUN]
    assert run_json(command_home, "show", "last")["run_id"] == RUN


def test_scenarios_are_opened_edited_weighed_annotated_renamed_copied_and_closed_on_the_page(
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
    book.acts["duplicate"].click()
    book.chosen.value, book.rationale.value = "calmer", "VIX stays lower"
    book.acts["annotate"].click()
    book.chosen.value, book.name.value = "calmer", "calmest"
    book.acts["rename"].click()
    table = {row["name"]: row for row in saved.table()["scenarios"]}
    assert table.keys() == {"calm", "calmest"} and table["calmest"]["rationale"] == "VIX stays lower"
    assert table["calmest"]["root"] == table["calm"]["root"]
    book.chosen.value, book.likely.value = "calmest", "often"
    book.acts["weigh"].click()
    assert saved.table()["mix"] is None and "often" in book.said.value
    book.likely.value = "30%"
    book.acts["weigh"].click()
    assert saved.table()["mix"]["weights"]["calmest"] == 0.3
    book.opening.click()
    page.session.edit("P3", "0.5")
    page.keeper.flush()
    assert [edit.node for edit in saved.scenario("calmest").edits] == ["P2.1", "P3"]  # type: ignore[union-attr]
    book.name.value = "calm"
    book.acts["duplicate"].click()
    assert "is open already" in book.said.value or "already exists" in book.said.value  # no name twice
    book.chosen.value = "calmest"
    book.acts["close"].click()
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
    book.acts["rename"].click()
    assert book.chosen.value == "a storm" and order == ["list", "said"]
    book.name.value = "aftermath"
    book.acts["duplicate"].click()
    assert book.chosen.value == "a storm" and order == ["list", "said"] * 2
    book.acts["close"].click()
    assert book.chosen.value in {"calm", "bust", "aftermath"}


def test_there_is_a_report_for_a_boss_with_drivers_scenarios_and_audit(command_home: Path) -> None:
    home = command_home / "home"
    page = opened(home)
    page.session.edit("P2.1", "0.1")
    page.side_panels.book.name.value, page.side_panels.book.rationale.value = "stress", "VIX above 30"
    page.side_panels.book.save.click()
    sent: list[tuple[Any, Any]] = []
    taking = page.side_panels.taking
    taking.answer.send = lambda content, buffers=None: sent.append((content, buffers))
    assert f"{RUN}.html, " in asked(taking, to="html")
    content, (data,) = next((content, buffers) for content, buffers in sent if buffers)
    assert content == {"file": f"{RUN}.html", "media": "text/html"}
    out = command_home / "note.html"
    run_ok(command_home, "export", RUN, "-o", str(out))
    assert out.read_bytes() == data  # the page's file is the command line's
    note = data.decode()
    for part in ("65.8%", "74.2%", "stress", "VIX above 30", "VIX closes at or below 20"):
        assert part in note
