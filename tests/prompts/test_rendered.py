"""Rendered dialogues, read by code: nothing left to fill in, one number per limit, no tag or key that no reader knows."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from workbench.agents.replies.analysis_reply import END_OF_ANALYSIS, parse_analysis
from workbench.agents.replies.cell_reply import TERMINATE
from workbench.agents.replies.stage_replies import parse_conclusion, parse_debug, parse_step
from workbench.prompts import load
from workbench.propositions import Polarity

APPROVED = sorted((Path(__file__).parent / "approved").glob("*.txt"))
#: Tags that a prompt spells, and who reads them.
READ_TAGS = {
    END_OF_ANALYSIS: "parse_analysis",
    TERMINATE: "parse_step",
    "<markdown_cell>": "find_cells",
    "</markdown_cell>": "find_cells",
    "<python_cell>": "find_cells",
    "</python_cell>": "find_cells",
}
#: Outputs of a cell are no words of a prompt.
_OUTPUT = re.compile(r"^<report of=.*?^</report>$|^(?:\| )?<Figure>$", re.MULTILINE | re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z_]{3,}>")
#: What a limit is called where it is stated, with the number in front or behind.
LIMITS: Mapping[str, re.Pattern[str]] = {
    "leaves": re.compile(r"about (\d+) (?:leaves|are wanted)"),
    "leaves at most": re.compile(r"(\d+) are the most"),
    "steps": re.compile(r"at most (\d+) steps|limit of (\d+) steps|Step \d+ of (\d+) is done"),
    "characters of an output": re.compile(r"at most (\d+) characters a cell"),
    "questions": re.compile(r"at most (\d+) questions"),
    "constant": re.compile(r"from 0 to (0\.\d+), and 0 unless|may be at most (0\.\d+)"),
    "tolerance": re.compile(r"differs by more than (0\.\d+)"),
}


def sent(path: Path) -> str:
    """What was sent: the dialogue without the model's own replies."""
    parts = re.split(r"^===== (\w+)[^\n]*=====\n", path.read_text(encoding="utf-8"), flags=re.M)
    return "\n".join(text for role, text in zip(parts[1::2], parts[2::2], strict=True) if role != "assistant")


def faults(text: str) -> list[str]:
    """What a linter finds wrong with a rendered dialogue."""
    found = [f"placeholder {match}" for match in re.findall(r"\{\{.*?\}\}|(?<!\{)\{[a-z_]+\}(?!\})", text)]
    found += [f"tag {tag} is read by nobody" for tag in set(_TAG.findall(text)) - set(READ_TAGS)]
    for name, pattern in LIMITS.items():
        numbers = {group for match in pattern.finditer(text) for group in match.groups() if group}
        if len(numbers) > 1:
            found.append(f"{name}: {', '.join(sorted(numbers))}")
    return found


@pytest.mark.parametrize("path", APPROVED, ids=lambda path: path.stem)
def test_a_rendered_dialogue_leaves_nothing_open_and_contradicts_itself_in_no_limit(path: Path) -> None:
    assert faults(_OUTPUT.sub("", sent(path))) == []


def test_the_linter_finds_what_it_is_for() -> None:
    text = "Fill {{this}} and {that}. <FINISH> You have at most 3 steps. The limit of 4 steps is reached."
    assert faults(text) == [
        "placeholder {{this}}",
        "placeholder {that}",
        "tag <FINISH> is read by nobody",
        "steps: 3, 4",
    ]


def test_every_tag_that_a_reply_prompt_spells_is_read() -> None:
    step = load("step_reply").body
    example = step[step.index("<markdown_cell>") : step.index("</python_cell>") + len("</python_cell>")]
    assert [cell.kind for cell in parse_step(example).cells] == ["markdown", "code"]
    assert parse_debug(example) and parse_step(TERMINATE).end and parse_analysis(END_OF_ANALYSIS).end


def in_words_of_its_own(shape: str) -> str:
    """The JSON of a reply prompt with other words: the example's own are refused as an answer, its keys are looked at."""
    numbers = re.sub(r": ([a-z])(?=[,}])", ": 0.5", shape)
    texts = iter(range(1000))
    return re.sub(
        r'": "(?!P0|Positive|Negative)[^"]*"', lambda match: f'": "sentence {next(texts)}"', numbers
    )


def test_every_key_that_a_reply_prompt_spells_is_read() -> None:
    reply = load("analyze_reply").body
    block = in_words_of_its_own(reply[reply.index("[\n") : reply.index("```\n\n-")])
    (group,) = parse_analysis(f"```json\n{block}\n```").expansions
    assert group.polarities == {"P1": Polarity.POSITIVE, "P2": Polarity.NEGATIVE}
    assert group.resolves_by["P1"] and group.reference_class["P2"] and group.causality
    shape = re.search(r"\{.*\}", load("conclusion_reply").body)
    assert shape is not None
    filled = in_words_of_its_own(shape[0])
    said = parse_conclusion(f"It is.\n\n```json\n{filled}\n```")
    keys = set(json.loads(filled)) - {"p_true", "key_factor"}
    assert said.p == 0.5 and said.key_factor
    assert [name for name in keys if getattr(said.numbers, name) in (None, "")] == []
