"""Templates escape what they show, refuse a missing value, and never read a run's text as a template."""

import ast
from html import unescape
from pathlib import Path

import nbformat
import orjson
import pytest
from jinja2 import UndefinedError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from proxies.asof.asof_text import NO_TEXT
from workbench.engine.record.fold import load_state
from workbench.engine.run_settings import RunSettings
from workbench.prompts import TODAY
from workbench.propositions import Belief, Tree
from workbench.reports.note_page import write_report
from workbench.store import Store
from workbench.store import events as ev
from workbench.synthesis import LinearRule, resynthesize, settle
from workbench.synthesis.sensitivity.paths import tornado
from workbench.synthesis.whatif.edits import Restate, SetValue
from workbench.templates import html_environment, text_environment
from workbench.views.run_view import load_run
from workbench.widgets import drivers, panels
from workbench.widgets import tree_widget as static_tree
from workbench.widgets.proofs import proof_view as proof

ROOT = Path(__file__).resolve().parents[1]
RUN = "20180630-120000-7e57"

# 49 would stand where any of these had been compiled; the markup would be an element where it was not escaped.
HOSTILE = "{{ 7*7 }} {% if true %}{% endif %} {# note #} {{ cycler.__init__.__globals__ }} <img src=x>"


def hostile_tree() -> Tree:
    tree = Tree.root_only(f"root {HOSTILE}").expand("P0", {"P1": f"leaf {HOSTILE}"}, causality=HOSTILE)
    tree = tree.with_belief("P1", Belief(p=0.5, key_factor=HOSTILE, report=HOSTILE))
    belief = Belief(p=0.2, key_factor=HOSTILE, report=HOSTILE)
    return settle(tree.with_rule("P0", LinearRule(0.0, {"P1": 0.5}), belief))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data folder with a run whose every text looks like a template."""
    store, tree = Store(tmp_path), hostile_tree()
    started = ev.RunStarted(
        statement=tree.root.statement,
        cutoff="2018-06-30",
        cutoff_instant="2018-06-30T04:00:00+00:00",
        settings=RunSettings().to_json(),
    )
    leaf = {"p": 0.5, "key_factor": HOSTILE, "report": store.put_body(HOSTILE)}
    grounded = ev.LeafGrounded(
        node="P1",
        trial=1,
        attempt=1,
        steps=1,
        failed_cells=0,
        evidence=ev.EvidenceRecord(kind="notebook"),
        **leaf,
    )
    try:
        store.append(RUN, started)
        store.append(RUN, ev.TreePlanned(tree=store.put_body(orjson.dumps(tree.to_json()))))
        store.append(RUN, ev.LeafStarted(node="P1", trial=1, attempt=1))
        store.append(RUN, grounded)
        store.append(RUN, ev.LeafPooled(node="P1", trials=(0.5,), **leaf))
        write_report(store, load_state(store, RUN))
    finally:
        store.close()
    return tmp_path


def is_verbatim(html: str) -> bool:
    return HOSTILE in unescape(html) and "<img" not in html


def test_a_report_shows_statements_and_reports_verbatim(home: Path) -> None:
    page = (load_run(home, RUN).folder / "report.html").read_text(encoding="utf-8")
    assert is_verbatim(page) and unescape(page).count(HOSTILE) >= 5


def test_every_panel_shows_texts_verbatim(home: Path) -> None:
    tree = hostile_tree()
    now = resynthesize(tree, {"P1": 0.1})
    document = load_run(home, RUN).document() | {"model": HOSTILE, "run_id": HOSTILE}
    table = {
        "base": {"root": 0.3},
        "scenarios": [
            {"name": HOSTILE, "probability": 0.5, "stale": [], "rationale": HOSTILE, "root": 0.4, "edits": 1}
        ],
        "mix": None,
        "nodes": [{"id": "P1", "statement": HOSTILE, "base": 0.1, "scenarios": {HOSTILE: 0.2}}],
    }
    for piece in (
        panels.header(document, now, 1, 0.5),
        panels.what_if(
            HOSTILE,
            now,
            [SetValue(node="P1", p=0.1), Restate(node="P1", statement=HOSTILE)],
            tree,
            scenario=HOSTILE,
        ),
        drivers.tornado_html(tornado(tree), tree),
        drivers.ways_html(tree, 0.3),
        panels.scenarios(table, 0.3, 1),
        panels.selected("P1", tree, tree),
        panels.combination("P0", tree),
        panels.runs_table([{**document, "p": 0.5}]),
        panels.refusal(HOSTILE),
        panels.note(HOSTILE),
        static_tree.tree_html(tree),
    ):
        assert is_verbatim(piece)


def test_a_proof_shows_outputs_verbatim(tmp_path: Path) -> None:
    outputs = [
        new_output("stream", name="stdout", text=HOSTILE),
        new_output("error", ename=HOSTILE, evalue=HOSTILE, traceback=[HOSTILE]),
        new_output("display_data", {"text/plain": HOSTILE}),
        new_output("display_data", {HOSTILE: "x"}),
    ]
    cells = [new_code_cell("pass", outputs=[output]) for output in outputs]
    for number, cell in enumerate([*cells, new_markdown_cell("{{ 7*7 }} {% x %}")]):
        path = tmp_path / f"{number}.ipynb"
        nbformat.write(new_notebook(cells=[cell]), path)
        page = proof.proof_document(path)
        assert "<img" not in page and "{{ 7*7 }}" in unescape(page)


def test_a_prompt_shows_a_statement_verbatim() -> None:
    prompt = TODAY.render(
        "step_first", proposition=HOSTILE, cutoff="c", reply_format="f", max_steps=3, hints=NO_TEXT
    )
    assert HOSTILE in prompt


def test_a_name_without_a_value_is_an_error() -> None:
    for environment in (html_environment("workbench.widgets"), text_environment("workbench.prompts")):
        with pytest.raises(UndefinedError, match="nothing"):
            environment.from_string("{{ nothing }}").render()


def test_html_escapes_and_plain_text_does_not() -> None:
    assert html_environment("workbench.widgets").from_string("{{ x }}").render(x="<b>&") == "&lt;b&gt;&amp;"
    assert text_environment("workbench.prompts").from_string("{{ x }}").render(x="<b>&") == "<b>&"


def test_environments_are_built_in_one_place() -> None:
    """Else a second set-up without escaping, or one that compiles a run's text, slips in unseen."""
    builders = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "workbench").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name | ast.Attribute)
        and (node.func.id if isinstance(node.func, ast.Name) else node.func.attr)
        in ("Environment", "Template", "from_string")
    }
    # loader.py and offline/notebook_cells.py compile bodies of package files; prompts.loader has a class Template of its own
    assert builders == {
        "workbench/templates.py",
        "workbench/prompts/prompt_files.py",
        "workbench/offline/notebook_cells.py",
    }
