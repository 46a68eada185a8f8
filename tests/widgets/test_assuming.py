"""The probability of a logic rule's assumption, edited on the page: the same numbers as ``whatif --set PA=``, undone, kept."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from tests.command_line import run_cli
from tests.fakes.screens import RUN, is_hidden, make_run
from workbench.store import Store
from workbench.store import events as ev
from workbench.synthesis.rules.logic import Assumption, LogicRule
from workbench.views.run_view import load_run
from workbench.widgets.run_page import Dashboard

RULES = {
    "P0": LogicRule(
        "(P1 AND P3) OR (P2 AND PA)", Assumption(detail="no <b>war</b> breaks out", probability=0.9)
    ),
    "P2": LogicRule(
        "(P2.1 AND P2.2 AND P2.3) OR PA", Assumption(detail="the desk is calm", probability=0.25)
    ),
}


@pytest.fixture
def command_home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    make_run(home)
    with closing(Store(home)) as store:
        for node, rule in RULES.items():
            store.append(
                RUN,
                ev.NodeSynthesized(
                    node=node, rule=rule.to_json(), p=0.5, key_factor="", report=store.put_body("")
                ),
            )
    return tmp_path


@pytest.fixture
def board(command_home: Path) -> Dashboard:
    return Dashboard(load_run(command_home / "home", RUN))


@pytest.mark.parametrize(("node", "name"), [("P0", "PA"), ("P2", "P2.PA")])
@pytest.mark.parametrize("typed", ["0", "12.5%", "0.61803398875", "1"])
def test_the_page_and_the_command_agree_to_the_last_digit(
    board: Dashboard, command_home: Path, node: str, name: str, typed: str
) -> None:
    board.tree.selected = node
    board.side_panels.assuming.probability.value = typed
    board.side_panels.assuming.assume.click()
    said = json.loads(run_cli(command_home, "whatif", RUN, "--set", f"{name}={typed}", "--json").stdout)
    assert board.session.now.after == said["after"]
    assert (
        f"{name} set to" in board.side_panels.table.value
        and f"--set {name}=" in board.side_panels.table.value
    )
    board.session.undo()
    assert board.session.edits == () and board.session.now.after == board.session.now.before


def test_it_is_there_where_something_is_assumed_and_nowhere_else(board: Dashboard) -> None:
    for node in board.session.tree.ids():
        board.tree.selected = node
        assert (not is_hidden(board.side_panels.assuming)) is (node in RULES), node
    board.tree.selected = "P0"
    assert "no &lt;b&gt;war&lt;/b&gt; breaks out" in board.side_panels.assuming.detail.value
    assert (
        'title="0.9"' in board.side_panels.assuming.detail.value
        and board.side_panels.assuming.probability.value == "0.9"
    )


@pytest.mark.parametrize("typed", ["", "2", "-0.1", "much", "nan"])
def test_what_is_no_probability_is_refused_in_a_line(board: Dashboard, typed: str) -> None:
    board.tree.selected = "P2"
    board.side_panels.assuming.probability.value = typed
    board.side_panels.assuming.assume.click()
    assert "alert" in board.side_panels.assuming.line.value and board.session.edits == ()
    board.tree.selected = "P0"
    assert board.side_panels.assuming.line.value == ""


def test_the_probability_that_the_form_shows_is_no_edit(board: Dashboard) -> None:
    board.tree.selected = "P0"
    board.side_panels.assuming.assume.click()
    assert "nothing was changed" in board.side_panels.assuming.line.value and board.session.edits == ()


def test_edits_are_kept_and_two_assumptions_can_be_set(board: Dashboard, command_home: Path) -> None:
    for node, p in (("P0", "0.1"), ("P2", "0.2"), ("P0", "0.3")):
        board.tree.selected = node
        board.side_panels.assuming.probability.value = p
        board.side_panels.assuming.assume.click()
    board.keeper.flush()
    again = Dashboard(load_run(command_home / "home", RUN))
    said = json.loads(
        run_cli(command_home, "whatif", RUN, "--set", "PA=0.3", "--set", "P2.PA=0.2", "--json").stdout
    )
    assert again.session.now.after == board.session.now.after == said["after"]
    assert "--set PA=0.3 --set P2.PA=0.2" in board.side_panels.table.value
