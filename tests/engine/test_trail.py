"""From a number to its cell and from a cell to its rows: every link leads somewhere, and a stranger's text makes none."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.screens import RUN, data_call, make_run
from workbench.agents.findings.figures import quoted_spans, unprinted
from workbench.api.operation_function import shown_answer
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.operations.base import Home
from workbench.operations.evidence import Evidence
from workbench.store import Store
from workbench.views.trail import (
    Trail,
    TrailCell,
    evidence_trail,
    linked_numbers,
    markdown_places,
    raw_answer,
)


def trail_of(report: str, printed: dict[str, str], statement: str = "") -> Trail:
    cells = tuple(
        TrailCell(id=name, title="", first_line="x", printed=text) for name, text in printed.items()
    )
    return Trail(node="P1", trial=1, attempt=1, statement=statement, report=report, cells=cells, calls=())


def test_a_number_leads_to_the_first_cell_that_printed_it() -> None:
    trail = trail_of(
        "61.3% of 38 windows since 1999", {"cell-2": "38 windows", "cell-4": "share 0.6129 of 38"}
    )
    assert trail.numbers() == {"61.3": "cell-4", "38": "cell-2"}
    shown = linked_numbers("<p>61.3% of 38 windows since 1999 &#39;</p>", trail, "#P1-")
    assert re.findall(r'href="([^"]+)"[^>]*>([^<]+)<', shown) == [
        ("#P1-cell-4", "61.3"),
        ("#P1-cell-2", "38"),
    ]
    assert re.sub(r"</?a[^>]*>", "", shown) == "<p>61.3% of 38 windows since 1999 &#39;</p>"


@given(
    report=st.text(alphabet=st.sampled_from("0123456789.,%- abP\n"), max_size=60),
    printed=st.text(alphabet=st.sampled_from("0123456789., \n"), max_size=60),
)
def test_a_number_with_a_cell_counts_as_printed(report: str, printed: str) -> None:
    missing = set(unprinted(report, [printed]))
    numbers = trail_of(report, {"cell-1": printed}).numbers()
    spellings = {spelling for _, _, spelling in quoted_spans(report)}
    assert set(numbers) <= spellings - missing, "what a cell printed is never complained of"
    assert not missing & set(numbers)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_run(tmp_path)
    return tmp_path


def test_the_document_names_cell_call_and_answer(home: Path) -> None:
    store = Store(home)
    document = shown_answer(Evidence(run=RUN, node="P2.1"), Home(environ={}, folder=store.home))
    (call,) = document["calls"]
    reader = next(cell for cell in document["cells"] if cell["calls"])
    assert (reader["calls"], call["cell"]) == ([1], reader["id"])
    assert (call["clamped"], call["withheld"], call["rows"]) == (["end"], 127, 2)
    assert call["newest"] == {"date": "2018-06-29", "value": 16.09} and "beginning" not in call
    state = load_state(store, RUN)
    expected = data_call(RUN, "P2.1").answer
    assert expected is not None and raw_answer(store, state, "P2.1", 1) == expected.body
    with pytest.raises(UsageError, match="made 1 data calls"):
        raw_answer(store, state, "P2.1", 2)
    with pytest.raises(UsageError, match=r"P2 is combined from P2\.1"):
        evidence_trail(store, state, "P2")
    store.close()


def test_the_exported_notebook_has_a_place_for_every_link(home: Path) -> None:
    import json

    from workbench.packages.export import export_run

    store = Store(home)
    data, _ = export_run(store, RUN, "ipynb")
    cells: list[dict[str, Any]] = json.loads(data)["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    links = set(re.findall(r"\]\(#([^)]+)\)", text))
    assert links and links <= set(re.findall(r'<a id="([^"]+)">', text))
    assert "data call 1: `embedded/series/observations(series_id=VIX, end=2018-12-31)`" in text
    store.close()


def test_hostile_parameters_are_code_in_the_exported_notebook() -> None:
    from workbench.views.trail import Call

    bad = "`![x](http://evil.example/x.png)<script>`\n# title"
    call = Call(
        number=1, cell="cell-1", path=bad, params={}, sent=[], at_utc="", cutoff="", as_of="", policy="", clamped=[bad],
        undated=0, withheld=0, residual="", rows=None, newest=None, content_hash="", refused=None,
    )  # fmt: skip
    cell = TrailCell(id="cell-1", title="", first_line="", printed="", calls=(1,))
    trail = Trail(node="P1", trial=1, attempt=1, statement="", report="", cells=(cell,), calls=(call,))
    from sandbox.jupyter.sanitize import clean_markdown

    shown = clean_markdown(markdown_places(trail)["cell-1"])
    assert "<img" not in shown and "<script" not in shown and "<h1" not in shown
