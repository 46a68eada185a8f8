"""The table of docs/use/models.md: what a leaf asks for by each grounder is what the grounder does."""

import pytest

from benchmarks.grounders import LEAF_ROWS, measure, page_rows
from benchmarks.prompts import counter
from workbench.agents.registry import agent_names
from workbench.plug_points import GROUNDERS, package_of


def test_every_grounder_has_a_row() -> None:
    ours = {name for name in agent_names(GROUNDERS) if package_of(GROUNDERS, name) is None}
    assert {name.partition(",")[0].partition(" off")[0] for name in LEAF_ROWS} == ours
    assert list(page_rows()) == list(LEAF_ROWS)


@pytest.mark.long
@pytest.mark.parametrize("name", list(LEAF_ROWS))
async def test_the_page_says_what_a_leaf_asks_for(name: str) -> None:
    calls, looked, sent, written = await measure(name)
    page = page_rows()[name]
    assert page[:2] == (calls, looked)
    # A changed word of a prompt moves the tokens a little, another tokenizer by more: the page says which order they are of.
    near = 0.05 if counter()[1] == "cl100k" else 0.4
    assert page[2:] == (pytest.approx(sent, rel=near), pytest.approx(written, rel=near)), (
        "python -m benchmarks.grounders --write"
    )
