"""Every kind of leaf: its cells conclude with the forecaster's number for the same rows, cutoff and claim, and show what it rests on."""

import json
from datetime import date
from typing import Any

import pytest
from jinja2 import UndefinedError

from tests.offline.embedded import visible_rows
from tests.offline.inprocess import Leaf, analyst, ground
from workbench.forecasts.reading import Reading
from workbench.models.base import NodeRef
from workbench.offline.notebook_cells import notebook, render_steps
from workbench.questions.decision import appraise, claim_scale, settle
from workbench.questions.grammar import read_claim
from workbench.questions.series.claim_paths import ClaimPaths
from workbench.questions.series.readings_of_claims import claim_reading

NAMES = ("SP500", "NASDAQ", "VIX", "WTI", "CORE_CPI", "AAA", "BAA")
CLAIMS = [
    "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29",
    "S&P 500 between 2700 and 3000 on 2018-12-31",
    "The S&P 500 closes at least 1% below its 200-day average on 2018-09-28",
    "S&P 500 never closes 5 % or more below its 2018-06-29 close through 2018-12-31",
    "WTI closes above 80 at least once before 2018-12-31",
    "The realised volatility of the S&P 500 from 2018-06-29 to 2018-12-31 is at most 12.5%",
    "NASDAQ outperforms the S&P 500 from 2018-06-29 to 2018-12-31",
    "VIX touches 30 by 2018-12-31",
    "VIX falls 20 % from its 2018-06-29 close by 2018-12-31",
    "core CPI rises at least 1 % from May 2018 to November 2018",
    "WTI crude oil has its average above 68 from 2018-09-30 to 2018-12-31",
    "VIX has its lowest value at or below 11 through 2018-12-31",
    "VIX closes above 20 on at least 5 days through 2018-12-31",
    "The BAA corporate bond yield rises by at least 0.25 points by 2018-12-31",
    "WTI crude oil moves by at least 10% either way by 2018-12-31",
    "The S&P 500 falls by at least 3% on at least one day through 2018-12-31",
    "The S&P 500 closes 10% or more below its highest close of the window through 2018-12-31",
    "The S&P 500 closes lower on at least 5 consecutive days through 2018-12-31",
    "Reference class: core CPI above 259 on 2018-11-30",
]


#: The others are for the long tier.
FEW = [each for each in CLAIMS if each.startswith("VIX touches")]


async def _same(statement: str) -> None:
    last_day = date(2018, 6, 29)
    rows = {name: visible_rows(name, last_day) for name in NAMES}
    leaf = await ground(analyst(), NodeRef(id="P1", statement=statement), "2018-06-30")
    claim = read_claim(statement)
    record = json.loads(leaf.printed[-1].splitlines()[-1])
    assert record["statement"] == statement
    # What back-tests, the record beside an answer and the root of the tree take for the claim.
    assert leaf.p == record["p"] == pytest.approx(ClaimPaths().chance(claim, rows), abs=1e-6)
    expected = appraise(claim, rows, last_day)
    assert record["base_rate"] == pytest.approx(expected.base_rate, abs=1e-6)
    assert record["horizon_days"] == expected.horizon
    assert record["effective_windows"] == pytest.approx(expected.effective_windows, abs=0.051)
    assert (record["weeks_from"], record["weeks_to"]) == (str(expected.first), str(expected.last))
    assert record["bits"] == "".join({1: "1", 0: "0", -1: "x"}[int(bit)] for bit in expected.outcomes)
    assert sum(record["weights"].values()) == pytest.approx(1.0, abs=1e-5) and len(record["models"]) >= 5
    mean = sum(record["weights"][name] * value for name, value in record["models"].items())
    assert record["p"] == pytest.approx(min(max(mean, 0.02), 0.98), abs=1e-4)
    assert record["like"]["count"] >= 30 and record["like"]["words"] in leaf.report
    _is_worth_showing(leaf, statement)


@pytest.mark.parametrize("statement", FEW)
async def test_a_leaf_concludes_with_the_forecasters_number(statement: str) -> None:
    await _same(statement)


@pytest.mark.long
@pytest.mark.parametrize("statement", [each for each in CLAIMS if each not in FEW])
async def test_every_kind_of_leaf_concludes_with_the_forecasters_number(statement: str) -> None:
    await _same(statement)


def _is_worth_showing(leaf: Leaf, statement: str) -> None:
    """Several cells, data through CALL_API only, one figure with title, units, threshold and cutoff."""
    assert 4 <= len(leaf.sources) <= 6
    assert all(path == "embedded/series/observations" for path, _ in leaf.kernel.calls)
    assert "CALL_API" in leaf.sources[0]
    assert not any("http" in source or "open(" in source for source in leaf.sources)
    ((title, panels),) = leaf.kernel.figures
    assert "".join(title.split()).startswith("".join(statement.split()))
    labels = [label for panel in panels for label in panel.labels]
    assert any(label.startswith("cutoff") for label in labels) and any(
        "base rate" in label for label in labels
    )
    assert len(panels) == 3
    assert all(panel.xlabel or panel.ylabel for panel in panels)
    assert all(panel.ylabel for panel in panels)


def test_the_cells_are_few_and_hold_the_claim_as_it_is_read() -> None:
    last_day = date(2018, 6, 29)
    rows = {name: visible_rows(name, last_day) for name in NAMES}
    for statement in CLAIMS:
        claim = settle(read_claim(statement), rows)
        steps = notebook(claim, statement=statement, cutoff="2018-06-30", last_day=last_day)
        code = [cell.source for step in steps for cell in step if cell.kind == "python"]
        assert 4 <= len(code) <= 6 and "{{" not in "".join(code)
        assert max(len(cell.splitlines()) for cell in code) <= 24
        names: dict[str, Any] = {
            "Reading": Reading,
            "date": date,
            "reading_windows": lambda *inputs: inputs,
            "history": None,
            "LAST_DAY": last_day,
        }
        exec(code[1].partition("print(")[0], names)
        assert names["windows"] == (claim_reading(claim), None, last_day, claim_scale(claim))


@pytest.mark.parametrize(
    "hostile",
    [
        "{{ 7*7 }} {{cutoff}}",
        "{% include 'leaf.md' %}",
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
        render_steps("leaf", {})
