"""docs/claims.md and ``workbench claims``: every line is read by the reader that a claim is read by.

``python -m tests.questions.test_claim_examples`` writes the page anew.
"""

import json
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from tests.command_line import run_cli
from workbench.manual import whole_page, write_between
from workbench.offline.claim_examples import CLAIM_EXAMPLES, EXAMPLE_CUTOFF, claim_examples
from workbench.questions.readings.choice import day_of
from workbench.questions.readings.read import read

PAGE = Path(__file__).resolve().parents[2] / "docs" / "claims.md"
START, END = "<!-- claims: python -m tests.questions.test_claim_examples -->\n", "<!-- end of claims -->"


def table(examples: list[dict[str, Any]]) -> str:
    """Return the examples as the page has them."""
    lines = []
    for about, rows in groupby(examples, key=itemgetter("about")):
        lines += [f"## {about}", "", "| you type | it is read as | answered by |", "| --- | --- | --- |"]
        for row in rows:
            several = len(row["readings"]) > 1
            readings = "; ".join(
                f"({number}) {each}" if several else each
                for number, each in enumerate(row["readings"], start=1)
            )
            lines.append(f"| {row['text']} | {readings} | {row['answered']} |")
        lines.append("")
    return "\n".join(lines)


def test_the_page_is_what_the_command_prints(tmp_path: Path) -> None:
    examples = json.loads(run_cli(tmp_path, "claims", "--json").stdout)["claims"]
    before, _, rest = whole_page(PAGE).partition(START)
    assert before and rest.partition(END)[0] == table(examples)


@pytest.mark.long
def test_the_command_prints_them_for_people(tmp_path: Path) -> None:
    assert "the S&P 500 closes 2018 higher" in run_cli(tmp_path, "claims").stdout


@pytest.mark.parametrize("text", [text for texts in CLAIM_EXAMPLES.values() for text in texts])
def test_every_line_has_a_reading(text: str) -> None:
    found = read(text, day_of(Cutoff.parse(EXAMPLE_CUTOFF)))
    assert found.choices and not found.leftover, text


if __name__ == "__main__":
    write_between(PAGE, START, END, table(claim_examples()))
