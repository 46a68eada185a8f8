"""The probability of a logic rule's assumption, edited on the page: the same numbers as ``whatif --set PA=``, undone, kept."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.command_line import run_json
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


@pytest.mark.parametrize(("node", "name", "typed"), [("P0", "PA", "12.5%"), ("P2", "P2.PA", "0.61803398875")])
def test_the_page_and_the_command_agree_to_the_last_digit(
    board: Dashboard, command_home: Path, node: str, name: str, typed: str
) -> None:
    board.tree.selected = node
    board.side_panels.assuming.form.inputs["values"][0].value = typed
    board.side_panels.assuming.form.buttons["values"].click()
    said = run_json(command_home, "whatif", RUN, "--set", f"{name}={typed}")
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
        'data-value="0.9"' in board.side_panels.assuming.detail.value
        and board.side_panels.assuming.form.inputs["values"][0].value == "0.9"
    )
