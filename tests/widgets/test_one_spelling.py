"""One number, one spelling: a probability that a person reads is a percentage with one decimal, as a figure and within a sentence."""

import re
from html import unescape
from pathlib import Path

import pytest

from tests.command_line import run_cli
from tests.conftest import FinishedRun
from workbench.formatting import percent
from workbench.views.answer import sentence_of, waterfall
from workbench.views.run_view import RunView, load_run
from workbench.whatif.stored_reports import report_base_rate, without_records
from workbench.whatif.tree_documents import driver_rows
from workbench.widgets import answer_panel, panels
from workbench.widgets.drivers import tornado_html
from workbench.widgets.edits.edit_session import WhatIfSession


def seen(html: str) -> str:
    """What a reader sees of a panel: no tags, no attributes, no fold of the arithmetic."""
    html = re.sub(r"<details.*?</details>", " ", html, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", " ", html))


def page_of(run: RunView) -> str:
    """The panels of a run's page that show probabilities."""
    tree, now = run.tree, WhatIfSession(run.tree).now
    steps = waterfall(tree)
    sentence = sentence_of(tree.root.p, run.base_rate, steps)
    parts = [
        panels.header(run.document(nodes=False), now, 0, run.base_rate, band=run.band(), sentence=sentence),
        answer_panel.way(steps, arithmetic=None),
        tornado_html(driver_rows(tree), tree),
        *(panels.selected(node, tree, tree) for node in tree.ids()),
        *(
            f"<p>{without_records(belief.report)}</p>"
            for each in tree.propositions()
            if not each.children and (belief := each.belief) is not None
        ),
    ]
    return seen("\n".join(parts))


def shares_of(run: RunView) -> list[float]:
    """Every probability of the run and every base rate."""
    found = [each.p for each in run.tree.propositions()]
    found += [report_base_rate(each) for each in run.tree.propositions()]
    return [p for p in found if p is not None]


def misspelt(text: str, p: float) -> list[str]:
    """The places where a probability stands otherwise than as a percentage with one decimal."""
    shares = {f"{p:.{digits}f}" for digits in (2, 3, 4, 5, 6)} | {f"{100 * p:.0f}%"}
    apart = {f"{100 * p:.{digits}f} %" for digits in (0, 1, 2)}
    # A weight, and a step of a rule, is no probability.
    return re.findall(
        rf"(?<!weight )(?<![\d.+−])(?:{'|'.join(map(re.escape, shares | apart))})(?![\d%]| ×)", text
    )


@pytest.fixture
def run(demo: FinishedRun) -> RunView:
    return load_run(demo.home / "home", demo.run_id)


def told(run: RunView, text: str) -> str:
    """A screen's text without the statements, whose levels are their own, and without the list of all digits."""
    text = text.partition("## Every number in full")[0].replace("\\", "")
    for each in run.tree.propositions():
        text = text.replace(each.statement, "")
    return text


def test_a_probability_has_one_spelling_on_page_note_and_terminal(
    demo: FinishedRun, run: RunView, tmp_path: Path
) -> None:
    note = tmp_path / "note.md"
    assert run_cli(demo.home, "export", demo.run_id, "-o", str(note)).returncode == 0
    screens = {
        "page": page_of(run),
        "note": note.read_text(),
        "show": run_cli(demo.home, "show", demo.run_id).stdout,
    }
    for name, screen in screens.items():
        text = told(run, screen)
        for p in shares_of(run):
            assert misspelt(text, p) == [], (name, p)
        root = run.tree.root.p
        assert root is not None and text.count(percent(root)) > 1, "in the head and in the sentence"


def test_the_test_sees_the_other_spellings() -> None:
    for text in ("at 0.66.", "p = 0.6617.", "base 66 %;", "now 66.2 %", "at 66%."):
        assert misspelt(text, 0.66173), text
    for text in ("(weight 0.66)", "66.2%", "0.6617 × P1", "+0.66 points"):
        assert not misspelt(text, 0.66173), text
