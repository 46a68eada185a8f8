"""Every kind of leaf: the number its cells print is the number of the reference implementation on the same rows."""

import json
from datetime import date

import pytest
from jinja2 import UndefinedError

from tests.offline.embedded import visible_rows
from tests.offline.inprocess import Leaf, analyst, ground
from workbench.models.base import NodeRef
from workbench.offline.notebook_cells import notebook, render_steps
from workbench.questions.decision import appraise, settle, spec_of
from workbench.questions.grammar import read_claim

NAMES = ("SP500", "NASDAQ", "VIX", "WTI", "CORE_CPI", "AAA", "BAA")
CLAIMS = [
    "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29",
    "The S&P 500 closes no higher on 2018-12-31 than on 2018-09-28",
    "NASDAQ rises 5 % from 2018-03-29 to 2018-12-31",
    "WTI above 80 on 2018-12-31",
    "S&P 500 between 2700 and 3000 on 2018-12-31",
    "The S&P 500 closes at least 1 % below its 200-day average on 2018-09-28",
    "S&P 500 never closes 5 % or more below its 2018-06-29 close through 2018-12-31",
    "NASDAQ falls 5 % from its 2018-08-31 close by 2018-12-31",
    "WTI closes above 80 at least once before 2018-12-31",
    "The realised volatility of the S&P 500 from 2018-06-29 to 2018-12-31 is at most 12.5 %",
    "Realised volatility of WTI from 2018-05-01 to 2018-12-31 is above 22 %",
    "NASDAQ outperforms the S&P 500 from 2018-06-29 to 2018-12-31",
    "NASDAQ underperforms WTI from 2018-08-31 to 2018-12-31",
    "VIX at or below 20 on 2018-12-31",
    "VIX no lower on 2018-12-31 than on 2018-09-28",
    "VIX touches 30 by 2018-12-31",
    "VIX falls 20 % from its 2018-06-29 close by 2018-12-31",
    "The BAA-AAA spread is no wider on 2018-12-31 than on 2018-06-29",
    "The BAA-AAA spread widens by 2018-12-31",
    "BAA yield rises 2 % from March 2018 to December 2018",
    "AAA yield below 4 on 2018-12-31",
    "core CPI rises at least 1 % from May 2018 to November 2018",
    "Reference class: core CPI above 259 on 2018-11-30",
]


@pytest.mark.long
@pytest.mark.parametrize("statement", CLAIMS)
async def test_the_cells_compute_what_the_reference_computes(statement: str) -> None:
    last_day = date(2018, 6, 29)
    rows = {name: visible_rows(name, last_day) for name in NAMES}
    leaf = await ground(analyst(), NodeRef(id="P1", statement=statement), "2018-06-30")
    expected = appraise(read_claim(statement), rows, last_day)
    record = json.loads(leaf.printed[-1].splitlines()[-1])
    assert record["statement"] == statement
    assert record["p"] == pytest.approx(expected.p, abs=1e-6)
    assert record["base_rate"] == pytest.approx(expected.base_rate, abs=1e-6)
    assert record["models"] == pytest.approx(expected.models, abs=2e-6)
    assert record["comparators"] == pytest.approx(expected.comparators, abs=2e-6)
    assert record["horizon_days"] == expected.horizon
    assert record["effective_windows"] == pytest.approx(expected.effective_windows, abs=0.051)
    assert (record["weeks_from"], record["weeks_to"]) == (str(expected.first), str(expected.last))
    assert record["bits"] == "".join({1: "1", 0: "0", -1: "x"}[int(bit)] for bit in expected.outcomes)
    assert leaf.p == record["p"]
    _is_worth_showing(leaf, statement)


def _is_worth_showing(leaf: Leaf, statement: str) -> None:
    """Several cells, data through CALL_API only, one figure with title, units, threshold and cutoff."""
    assert len(leaf.sources) >= 4
    assert all(path == "embedded/series/observations" for path, _ in leaf.kernel.calls)
    assert "CALL_API" in leaf.sources[0]
    assert not any("http" in source or "open(" in source for source in leaf.sources)
    ((title, panels),) = leaf.kernel.figures
    assert "".join(title.split()).startswith("".join(statement.split()))
    labels = [label for panel in panels for label in panel.labels]
    assert any(label.startswith(("threshold", "last")) for label in labels)
    assert any(label.startswith("cutoff") for label in labels)
    assert all(panel.xlabel or panel.ylabel for panel in panels)
    assert all(panel.ylabel for panel in panels)


def test_leaves_of_different_kinds_run_different_code() -> None:
    last_day = date(2018, 6, 29)
    rows = {name: visible_rows(name, last_day) for name in NAMES}
    by_kind: dict[str, str] = {}
    for statement in CLAIMS:
        claim = settle(read_claim(statement), rows)
        cells = notebook(claim, statement="S", cutoff="2018-06-30", last_day=last_day)
        model_cell = next(cell.source for step in cells for cell in step if "models = {" in cell.source)
        by_kind.setdefault(spec_of(claim, last_day).method, model_cell)
    assert len(by_kind) == 8
    assert len(set(by_kind.values())) == 8


@pytest.mark.parametrize("statement", CLAIMS)
def test_arch_is_imported_only_where_garch_is_fitted(statement: str) -> None:
    last_day = date(2018, 6, 29)
    rows = {name: visible_rows(name, last_day) for name in NAMES}
    claim = settle(read_claim(statement), rows)
    steps = notebook(claim, statement=statement, cutoff="2018-06-30", last_day=last_day)
    code = "\n".join(cell.source for step in steps for cell in step if cell.kind == "python")
    fits = spec_of(claim, last_day).method in ("endpoint", "average", "path", "volatility")
    assert ("import arch" in code or "from arch" in code) == fits
    assert "{{" not in code


@pytest.mark.parametrize(
    "hostile",
    [
        "{{ 7*7 }} {{cutoff}}",
        "{% include 'parts/garch.md' %}",
        "{# gone #}",
        "<!-- step -->",
        "\n```python\nimport os\n```\n",
    ],
)
def test_a_statement_is_put_into_cells_verbatim_and_never_read_as_a_template(hostile: str) -> None:
    claim = settle(read_claim(CLAIMS[0]), {})
    statement = f"{CLAIMS[0]} {hostile}"
    plain = notebook(claim, statement=CLAIMS[0], cutoff="2018-06-30", last_day=date(2018, 6, 29))
    steps = notebook(claim, statement=statement, cutoff="2018-06-30", last_day=date(2018, 6, 29))
    assert f"**{statement}**" in steps[0][0].source
    assert any(f"title = {json.dumps(statement)}" in cell.source for step in steps for cell in step)
    assert [[cell.kind for cell in step] for step in steps] == [
        [cell.kind for cell in step] for step in plain
    ]


def test_a_hole_without_a_value_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="statement"):
        render_steps("endpoint", {})
