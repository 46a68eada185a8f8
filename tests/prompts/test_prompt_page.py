"""docs/prompts.md tells how long each dialogue is, and shows it as it is sent."""

import re

import pytest

from benchmarks.prompt_page import AGENTS, APPROVED, PAGE, cost_table, dialogue_tokens
from benchmarks.prompts import counter

PAGE_TEXT = PAGE.read_text(encoding="utf-8")


def numbers(row: str) -> list[float]:
    return [
        float(word.replace(",", "")) for word in re.findall(r"(?<=[ $])[\d,.]+(?=[ %])", row.split("|", 2)[2])
    ]


def test_token_counts_are_within_a_twentieth_of_the_table() -> None:
    count, _ = counter()
    for name, tokens in dialogue_tokens(count).items():
        (said,) = re.findall(rf"^\| {re.escape(AGENTS[name])} \| ([\d,]+) \|$", PAGE_TEXT, re.MULTILINE)
        assert tokens == pytest.approx(int(said.replace(",", "")), rel=0.05), (
            f"{name}: python -m benchmarks.prompt_page --write"
        )
    for row in cost_table(count)[2:]:
        title = row.split("|")[1]
        (said_row,) = [line for line in PAGE_TEXT.splitlines() if line.startswith(f"|{title}|")]
        assert numbers(row) == pytest.approx(numbers(said_row), rel=0.05), title


@pytest.mark.parametrize("name", AGENTS)
def test_a_dialogue_stands_there_whole(name: str) -> None:
    assert (APPROVED / f"{name}.txt").read_text(encoding="utf-8").rstrip() in PAGE_TEXT, (
        "python -m benchmarks.prompt_page --write"
    )
