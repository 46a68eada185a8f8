"""The cells of one run in one kernel: one tree, one list of edits, one scenario in work."""

from dataclasses import replace
from pathlib import Path

import workbench as wb
from tests.fakes.screens import RUN, demo_tree, make_run
from workbench.synthesis import resynthesize
from workbench.whatif.saved_scenarios import SavedScenarios
from workbench.widgets.edits.edit_log import RunEdits, shared_edits


def typed(shared: RunEdits, message: dict[str, object]) -> None:
    shared.tree.comm.deliver(message)  # type: ignore[union-attr]


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
    page.tree.comm.deliver({"type": "edit", "id": "P2.1", "text": "0"})  # type: ignore[union-attr]
    assert tree.tree["nodes"]["P2.1"]["p"] == 0.0 and "P2.1" in scenarios.bar.table.value
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


def test_a_scenario_that_is_opened_stands_in_the_tree(analysis: wb.Analysis) -> None:
    analysis.what_if({"P3": 0.2}, scenario="hard")
    view, tree = analysis.scenario_view(), analysis.explorer()
    view.book.chosen.value = "hard"
    view.book.opening.click()
    assert tree.tree["nodes"]["P0"]["p"] == resynthesize(demo_tree(), {"P3": 0.2}).after
    assert tree.scenario == "hard"


def test_a_later_look_at_the_run_is_put_under_the_edits(analysis: wb.Analysis) -> None:
    tree = analysis.explorer()
    tree.session.edit("P2.1", "0.0")
    older = wb.open_run(analysis.run_id)
    analysis.comment("P3", "Which windows?", author="Ada")
    assert analysis.explorer() is tree and shared_edits(analysis.run).run is analysis.run
    assert older.explorer() is tree and shared_edits(older.run).run is analysis.run, (
        "never back to an older look"
    )
    assert tree.tree["nodes"]["P2.1"]["p"] == 0.0


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
    for panel in (scenarios.bar.table, scenarios.book.compared, analysis.driver_view().drivers.chart):
        assert "&lt;img" in panel.value and "<img" not in panel.value
