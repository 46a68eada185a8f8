"""Every row of ``corpora/said.tsv``: what a claim that somebody typed is taken to say, or why it is not taken."""

from datetime import date
from typing import NamedTuple

import pytest

from tests.questions.corpora.verdicts import HERE
from workbench.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.readings.read import TWO_CLAIMS, read


class Row(NamedTuple):
    kind: str
    cutoff: str
    text: str
    wanted: str = ""


ROWS = [
    Row(*line.split("\t"))
    for line in (HERE / "said.tsv").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize("row", [row for row in ROWS if row.cutoff], ids=lambda row: row.text)
def test_a_claim_is_taken_as_the_table_has_it(row: Row) -> None:
    found = read(row.text, date.fromisoformat(row.cutoff))
    statements = [each.statement for each in found.choices]
    match row.kind:
        case "read":
            assert found.best is not None and statements == [row.wanted]
            assert found.best.claim is None or found.best.claim == read_claim(row.wanted)
        case "choices":
            assert statements == row.wanted.split(" | ")
        case "asked":
            assert found.best is None and row.wanted in statements
        case "open":
            assert found.best is None
        case "offered":
            assert statements
        case "refused":
            assert not statements and (found.leftover or found.missing)
            if row.wanted == "two claims":
                assert TWO_CLAIMS in found.notes
            elif row.wanted:
                assert row.wanted in found.missing


@pytest.mark.parametrize("row", [row for row in ROWS if not row.cutoff], ids=lambda row: row.text)
def test_the_grammar_reads_or_refuses_in_one_sentence(row: Row) -> None:
    if row.kind == "claim":
        assert read_claim(row.text).statement == row.wanted
        return
    with pytest.raises(ClaimRefused) as refused:
        read_claim(row.text)
    assert row.wanted in str(refused.value) and "\n" not in str(refused.value)
