"""The cells of one run in one kernel: one tree, one list of edits, one scenario in work."""

from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from tests.fakes.screens import RUN, demo_tree, make_run
from workbench.synthesis import resynthesize
from workbench.whatif.saved_scenarios import SavedScenarios
from workbench.widgets.edits.edit_log import SharedEdits, shared_edits
from workbench.widgets.html_panel import InPlace
from workbench.widgets.proofs.cell_views import EvidenceView, ScenarioView


@pytest.fixture
def analysis(home: Path, monkeypatch: pytest.MonkeyPatch) -> wb.Analysis:
    monkeypatch.setenv("WORKBENCH_HOME", str(home))
    return wb.open_run(RUN)


def typed(shared: SharedEdits, message: dict[str, object]) -> None:
    shared.tree._on_message(shared.tree, message, [])


def test_a_cell_that_is_run_again_shows_the_widget_there_is(analysis: wb.Analysis) -> None:
    for name in ("explorer", "scenario_view", "driver_view", "export_view", "live_view"):
        assert getattr(analysis, name)() is getattr(wb.open_run(RUN), name)(), name


def test_a_cell_that_is_run_again_looks_again(analysis: wb.Analysis, home: Path) -> None:
    from contextlib import closing

    from workbench.engine.leaves.single_node import reopen_leaf
    from workbench.store import Store

    assert "calm" not in analysis.scenario_view().book.compared.value
    analysis.what_if({"P2.1": 1.0}, scenario="calm")
    assert "calm" in analysis.scenario_view().book.compared.value
    live = analysis.live_view()
    assert live.follower.phase == "done"
    with closing(Store(home)) as store:
        reopen_leaf(store, RUN, "P2.1", full=False)
    assert analysis.live_view() is live and live.follower.phase != "done"
    live.poller.stop()


def test_a_widget_that_was_closed_is_made_anew_with_the_edits(analysis: wb.Analysis) -> None:
    tree = analysis.explorer()
    tree.session.edit("P2.1", "0.0")
    tree.close()
    again = analysis.explorer()
    assert again is not tree and again.tree["nodes"]["P2.1"]["p"] == 0.0


def test_the_whole_page_and_the_tree_beside_it_have_one_draft(analysis: wb.Analysis, home: Path) -> None:
    tree = analysis.explorer()
    tree.session.edit("P3", "0.2")
    page, scenarios = analysis.dashboard(), analysis.scenario_view()
    assert analysis.dashboard() is page, "a cell that is run again shows the page there is"
    assert page.session.values == {"P3": 0.2}
    page.tree._on_message(page.tree, {"type": "edit", "id": "P2.1", "text": "0"}, [])
    assert tree.tree["nodes"]["P2.1"]["p"] == 0.0 and "P2.1" in scenarios.table.value
    page.side_panels.author.value = "Ann"
    typed(shared_edits(analysis.run), {"type": "edit", "id": "P1.1", "text": "0.1", "moving": True})
    assert "P1.1" not in page.side_panels.table.value, "the steps of a drag wait for no panel"
    typed(shared_edits(analysis.run), {"type": "rest"})
    assert "P1.1" in page.side_panels.table.value and page.tree.tree["nodes"]["P1.1"]["p"] == 0.1
    page.keeper.flush()
    assert (
        page.keeper is shared_edits(analysis.run).keeper and "saved as draft" in page.side_panels.line.value
    )
    table = SavedScenarios(home, RUN).table()["scenarios"]
    assert [row["name"] for row in table] == ["draft"], "one draft of a run and kernel"
    kept = SavedScenarios(home, RUN).scenario("draft")
    assert kept is not None and kept.edits[-1].override.author == "Ann"  # type: ignore[union-attr]
    page.side_panels.undo.click()
    assert "P1.1" not in tree.session.values


def test_an_older_look_at_the_run_replaces_no_newer_one(analysis: wb.Analysis) -> None:
    """A look that was begun first may come in last."""
    analysis.explorer()
    shared = shared_edits(analysis.run)
    now = shared.run
    later, older = (replace(now, state=replace(now.state, seq=now.state.seq + step)) for step in (1, -1))
    shared.go_on(later, {})
    assert shared.run is later
    shared.go_on(older, {})
    assert shared.run is later


def test_two_runs_share_nothing(analysis: wb.Analysis, home: Path) -> None:
    make_run(home, "20180630-120000-5b52")
    analysis.explorer().session.edit("P2.1", "0.0")
    assert not wb.open_run("20180630-120000-5b52").explorer().session.edits


def test_what_is_typed_into_the_tree_stands_in_the_other_cells_when_the_page_rests(
    analysis: wb.Analysis,
) -> None:
    scenarios, drivers, shared = analysis.scenario_view(), analysis.driver_view(), shared_edits(analysis.run)
    before = scenarios.table.value, drivers.drivers.chart.value
    typed(shared, {"type": "edit", "id": "P2.1", "text": "0.0", "moving": True})
    assert (scenarios.table.value, drivers.drivers.chart.value) == before, (
        "the steps of a drag wait for no panel"
    )
    typed(shared, {"type": "rest"})
    assert "--set P2.1=0.0" in scenarios.table.value and "55.8%" in drivers.drivers.chart.value
    assert "1 edit on this page" in scenarios.book.compared.value
    scenarios.undo.click()
    assert "--set P2.1" not in scenarios.table.value and shared.tree.tree["nodes"]["P2.1"]["p"] == 0.5


def test_a_scenario_that_is_opened_stands_in_the_tree(analysis: wb.Analysis) -> None:
    analysis.what_if({"P3": 0.2}, scenario="hard")
    view, tree = analysis.scenario_view(), analysis.explorer()
    view.book.chosen.value = "hard"
    view.book.opening.click()
    assert tree.tree["nodes"]["P0"]["p"] == resynthesize(demo_tree(), {"P3": 0.2}).after
    assert tree.scenario == "hard"


def test_values_carry_who_set_them_and_why(analysis: wb.Analysis, home: Path) -> None:
    view, shared = analysis.scenario_view(), shared_edits(analysis.run)
    shared.author.value, shared.reason.value = "Ada", "spreads turn first"
    typed(shared, {"type": "edit", "id": "P2.1", "text": "0.9"})
    view.book.name.value = "calm"
    view.book.save.click()
    kept = SavedScenarios(home, RUN).scenario("calm")
    assert kept is not None
    override = kept.edits[0].override  # type: ignore[union-attr]
    assert override is not None and (override.author, override.reason) == ("Ada", "spreads turn first")


def test_an_edit_of_another_window_on_the_same_scenario_loses_neither(
    analysis: wb.Analysis, home: Path
) -> None:
    view, shared = analysis.scenario_view(), shared_edits(analysis.run)
    SavedScenarios(home, RUN).hold("draft", (), author="else", base_seq=None)
    analysis.what_if({"P3": 0.1}, scenario="draft")
    typed(shared, {"type": "edit", "id": "P2.1", "text": "0.9"})
    shared.keeper.flush()
    assert "your edits are saved as draft 2" in view.line.value
    rows = {row["name"]: row["root"] for row in analysis.scenarios()["scenarios"]}
    assert rows == {
        "draft": resynthesize(demo_tree(), {"P3": 0.1}).after,
        "draft 2": resynthesize(demo_tree(), {"P2.1": 0.9}).after,
    }


def test_the_evidence_goes_along_with_the_tree_and_the_page_is_its_theme(analysis: wb.Analysis) -> None:
    view, shared = analysis.evidence_view(), shared_edits(analysis.run)
    assert isinstance(view, EvidenceView)
    shared.choose("P2.2")
    assert view.chosen.value == "P2.2" and "P2.2" in view.head.value
    shared.choose("P2")  # combined from those below it: the proof that is shown stays
    assert view.chosen.value == "P2.2"
    shared.choose("no such proposition")
    assert shared.tree.selected == "P2"
    light = view.proof.value
    view._repr_mimebundle_()
    (place,) = [each for each in _places() if view.model_id in each.child]
    place.dark = True
    assert view.dark and view.proof.value != light
    place.dark = False
    assert view.proof.value == light


def _places() -> list[InPlace]:
    from workbench.widgets.html_panel import _places as places

    return list(places.values())


def test_a_later_look_at_the_run_is_put_under_the_edits(analysis: wb.Analysis) -> None:
    tree = analysis.explorer()
    tree.session.edit("P2.1", "0.0")
    later = analysis.comment("P3", "Which windows?", author="Ada")
    assert later.explorer() is tree and shared_edits(later.run).run is later.run
    assert analysis.explorer() is tree and shared_edits(analysis.run).run is later.run, (
        "never back to an older look"
    )
    assert tree.tree["nodes"]["P2.1"]["p"] == 0.0


def test_a_refusal_is_said_in_the_cell(analysis: wb.Analysis) -> None:
    view = analysis.scenario_view()
    assert isinstance(view, ScenarioView)
    view.book.likely.value = "perhaps"
    view.book.weigh.click()
    assert "perhaps" in view.book.said.value


def test_hostile_words_stand_in_every_cell_as_words(analysis: wb.Analysis) -> None:
    words = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    analysis.what_if(restate={"P2.1": words}, same_meaning=True, scenario=words[:30], rationale=words)
    analysis.what_if(restate={"P2.1": words}, same_meaning=True, scenario="draft", rationale=words)
    views = [analysis.scenario_view(), analysis.driver_view(), analysis.export_view(), analysis.live_view()]
    views.append(analysis.evidence_view("P2.1"))
    for view in views:
        shown = "".join([view.static_html(), view.line.value, view._repr_mimebundle_()["text/html"]])
        assert "<img" not in shown.partition("<iframe")[0] and "<script" not in shown, view
    scenarios = analysis.scenario_view()
    for panel in (scenarios.table, scenarios.book.compared, analysis.driver_view().drivers.chart):
        assert "&lt;img" in panel.value and "<img" not in panel.value
