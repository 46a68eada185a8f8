import re
import threading
from contextlib import closing
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.screens import RUN, add_revised_call, comm_of, demo_tree, is_hidden
from workbench.formatting import percent
from workbench.store import Store
from workbench.synthesis import resynthesize
from workbench.synthesis.whatif.edits import Restate, SetValue
from workbench.views.run_view import load_run
from workbench.widgets import dashboard, panels
from workbench.widgets.home_page import list_runs, open_dashboard, rehearse
from workbench.widgets.run_page import Dashboard


def opened(home: Path) -> Dashboard:
    return dashboard(load_run(home, RUN))


def text_of(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", html))


def test_the_number_to_use_comes_first(home: Path) -> None:
    run = load_run(home, RUN)
    now = resynthesize(demo_tree(), {})

    def order(skill: str | None, edits: int = 0, base_rate: float | None = 0.742) -> list[str]:
        scored = {"record": {"skill": skill, "n": 114, "clusters": 12}, "line": ""} if skill else None
        document = {**run.document(nodes=False), "record": scored}
        return re.findall(
            r'class="wb-number" data-field="([a-z-]+)"', panels.header(document, now, edits, base_rate)
        )

    assert order("no difference shown") == order("worse") == order("too few to tell") == ["base-rate", "root"]
    assert order(None) == ["base-rate", "root"]
    assert order("better") == order("worse", edits=1) == ["root", "base-rate"]
    assert order(None, base_rate=None) == ["root"]
    now = replace(now, before=1.0)  # decided by what is known
    assert order(None) == ["root", "base-rate"]


def test_two_edits_move_headline_table_and_tornado_to_the_same_numbers(home: Path, comms: list[Any]) -> None:
    shown = opened(home)
    comm = comm_of(shown.tree, comms)
    for p in ("0.0", "0.9"):
        comm.deliver({"type": "edit", "id": "P2.1", "text": p})
        wanted = percent(resynthesize(demo_tree(), {"P2.1": float(p)}).after)
        assert re.search(f'data-field="root" data-value="[^"]*" title="[^"]*">{wanted}<', shown.header.value)
        assert re.search(f">65.8%</td><td [^>]*>{wanted}</td>", shown.side_panels.table.value)
        assert f"Claim, now {wanted}" in shown.drivers.chart.value
    assert re.search(r"<s [^>]*>65.8%</s>", shown.header.value)
    assert f"workbench whatif {RUN} --set P2.1=0.9" in shown.side_panels.table.value


def test_a_selected_leaf_shows_its_notebook_in_a_closed_frame(home: Path, comms: list[Any]) -> None:
    shown = opened(home)
    comm_of(shown.tree, comms).deliver_state(selected="P2.1")
    assert shown.side_panels.proof.value.startswith('<iframe class="wb-frame" sandbox="" ')
    assert "VIX closes at or below 20" in shown.side_panels.detail.value
    assert "data:image/png;base64," in shown.side_panels.proof.value


def test_the_values_of_a_series_are_shown_as_a_chosen_day_knew_them(home: Path) -> None:
    with closing(Store(home)) as store:
        add_revised_call(store)
    shown = opened(home)
    shown.tree.selected = "P2.1"
    picker = shown.side_panels.vintages.content
    assert picker.day.options == ("2016-07-29", "2016-05-27", "2016-04-28")
    assert "2016-04-01" in picker.table.value and "100<" not in picker.table.value
    picker.day.value = "2016-04-28"
    assert "2016-04-01" not in picker.table.value  # nobody knew it then
    assert re.search(r'data-revised="true".*>100<.*2016-04-28.*>101.5<.*2016-05-27', picker.table.value)
    shown.tree.selected = "P1.1"
    assert "unrevised" in picker.table.value and is_hidden(picker.children[0])


def test_a_selected_inner_node_shows_its_sum_term_by_term(home: Path, comms: list[Any]) -> None:
    shown = opened(home)
    comm_of(shown.tree, comms).deliver_state(selected="P2")
    text = " ".join(text_of(shown.side_panels.detail.value).split())
    assert "P2 = −0.15 + 0.80 × P2.1 + 0.15 × (1 − P2.2) + 0.10 × (1 − P2.3)" in text
    assert (
        "0.0% with every driver against, 90.0% with every driver for" in text
        and "the rule can leave [0, 1]: it reaches [-0.15, 0.9]" in text
    )
    # children that speak against stand as their negations, in the sum as in the equation
    assert "0.80 50.0% 40.0%" in text and "not P2.2" in text and "0.15 67.0% 10.0%" in text


def test_a_leaf_without_a_notebook_says_so(home: Path, comms: list[Any]) -> None:
    run = load_run(home, RUN)
    (run.folder / "proofs" / "P3.ipynb").unlink()
    shown = opened(home)
    comm_of(shown.tree, comms).deliver_state(selected="P3")
    assert "P3 has no proof notebook yet." in shown.side_panels.proof.value


def test_a_dark_theme_reaches_the_notebook(home: Path, comms: list[Any]) -> None:
    shown = opened(home)
    comm = comm_of(shown.tree, comms)
    comm.deliver_state(selected="P3")
    assert '<body class="light"' in unescape(shown.side_panels.proof.value)
    comm.deliver({"type": "ready", "dark": True})
    assert '<body class="dark"' in unescape(shown.side_panels.proof.value)


def test_what_a_model_wrote_is_escaped_in_every_panel(home: Path) -> None:
    from workbench.propositions import Belief, Tree
    from workbench.synthesis import LinearRule, settle
    from workbench.synthesis.sensitivity.paths import tornado
    from workbench.widgets import drivers, panels
    from workbench.widgets.proofs import proof_view as proof

    evil = '"><img src=x onerror=alert(1)>'
    tree = Tree.root_only(f"root {evil}").expand("P0", {"P1": f"leaf {evil}"}, causality=evil)
    tree = tree.with_belief("P1", Belief(p=0.5, key_factor=evil))
    tree = settle(
        tree.with_rule("P0", LinearRule(0.0, {"P1": 0.5}), Belief(p=0.2, key_factor=evil, report=evil))
    )
    now = resynthesize(tree, {"P1": 0.1})
    document = {
        **load_run(home, RUN).document(),
        "statement": evil,
        "model": evil,
        "run_id": evil,
        "cutoff": evil,
        "status": evil,
    }
    pieces = [
        panels.header(document, now, 1, 0.5),
        panels.what_if(evil, now, [SetValue(node="P1", p=0.1)], tree, scenario=evil),
        panels.what_if(evil, now, [Restate(node="P1", statement=evil)], tree, scenario=evil),
        drivers.tornado_html(tornado(tree), tree),
        panels.selected("P0", tree, tree),
        panels.selected("P1", tree, tree),
        panels.combination("P0", tree) + panels.selected("P1", tree, tree),
        panels.runs_table([{**document, "p": 0.5}]),
    ]
    markdown = panels.synthesis_text(tree["P0"])
    assert evil in markdown and "<img" not in proof.markdown_document(markdown)
    for piece in pieces:
        assert "<img" not in piece and "&lt;img" in piece


def test_unsealed_kernels_are_said_loudly(home: Path) -> None:
    now = resynthesize(demo_tree(), {})
    document = {**load_run(home, RUN).document(), "isolation": "none"}
    assert re.search(r"wb-loud[^/]*without a sandbox", panels.header(document, now, 0, None))


def environ(home: Path, **more: str) -> dict[str, str]:
    return {"WORKBENCH_HOME": str(home), **more}


def test_the_address_wins_over_the_environment(home: Path) -> None:
    page = open_dashboard(environ(home, WORKBENCH_RUN="missing", QUERY_STRING=f"token=x&run={RUN}"))
    assert isinstance(page, Dashboard)


def test_without_a_run_the_page_lists_them(home: Path) -> None:
    page = open_dashboard(environ(home))
    assert f'href="?run={RUN}"' in page.table.value and "65.8%" in page.table.value


@pytest.mark.parametrize("run", ["", RUN, "missing"])
def test_a_rehearsal_leaves_nothing_behind(home: Path, run: str) -> None:
    from ipywidgets.widgets import widget

    with closing(Store(home)) as store:
        before = store.last_seq()
    threads = set(threading.enumerate())
    rehearse(environ(home, WORKBENCH_RUN=run))
    with closing(Store(home)) as store:
        assert store.last_seq() == before
    assert not widget._instances  # none that the next page would be sent
    for thread in set(threading.enumerate()) - threads:
        thread.join(timeout=10)
        assert not thread.is_alive()
    page = open_dashboard(environ(home, WORKBENCH_RUN=RUN))
    assert page.header.layout.comm is not None, "a layout that was closed with the rehearsal's widgets"


def test_an_empty_folder_says_how_to_start(tmp_path: Path) -> None:
    assert "No runs yet" in open_dashboard(environ(tmp_path)).table.value
    assert list_runs(tmp_path) == []
