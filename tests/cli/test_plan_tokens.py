"""The input tokens of a plan are those that the run then sends, counted at the server by the same tokenizer."""

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli
from tests.fakes.model_policy import Asked, Policy, text_of
from tests.fakes.openai_server import OpenAIServer
from workbench.models.costs import count_tokens
from workbench.questions.formats.format_registry import OWN

SENT = re.compile(r"([\d,]+) tokens sent")
#: How long replies are here, and what a step's cells print; of the latter a plan takes the recorded length.
REPLY, PRINTED = 400, 560
QUESTIONS: dict[str, dict[str, Any]] = {
    "binary": {
        "title": "Does the ECB cut its deposit rate before 2027-06-30?",
        "background": "The rate stands at 2.00 % since June 2025. " * 12,
        "criteria": "The Governing Council announces it by that day. " * 5,
    },
    "options": {
        "title": "Which party leads the cabinet on 2027-03-01?", "options": ["D66", "CDA", "VVD", "Other"],
        "background": "Talks on a coalition go on.",
    },
    "numeric": {
        "title": "What does Brent cost on 2027-03-01?", "low": 30, "high": 150, "unit": "USD", "levels": [60, 80],
        "criteria": "ICE settlement of the front month. A fine print excludes halted days.",
    },
}  # fmt: skip
TREE = {
    "P0": ["P1", "P2", "P3"],
    **{node: [f"{node}.{n}" for n in (1, 2, 3)] for node in ("P1", "P2", "P3")},
    "P1.1": [f"P1.1.{n}" for n in range(1, 6)],
}
SMALL = {"P0": ["P1", "P2"]}


@dataclass(slots=True, kw_only=True)
class Wordy(Policy):
    """Writes as many tokens in each reply as people's models do here."""

    def answer(self, asked: Asked) -> dict[str, Any]:
        message = Policy.answer(self, asked)
        lacking = REPLY - count_tokens("openai/x", message["content"])
        return {**message, "content": "word " * max(0, lacking) + "\n\n" + message["content"]}


def scripted(tree: dict[str, list[str]]) -> Policy:
    statements = {
        parent: {
            child: (
                f"The measure of part {child} stands above {7 + 3 * len(child)} points on 2026-12-{len(child) + number:02}",
                "Positive",
            )
            for number, child in enumerate(children, 10)
        }
        for parent, children in tree.items()
    }
    return Wordy(plan=statements, steps=7, fetch=f"closes = [1]\nprint('seen ' * {PRINTED})", plot=f"print('seen ' * {PRINTED})")  # fmt: skip


def tokens_of(asked: list[Asked]) -> Counter[str]:
    tokens: Counter[str] = Counter()
    for one in asked:
        tools = [str(list(tool["function"].values())) for tool in one.body.get("tools", ())]
        tokens[one.stage] += count_tokens("openai/x", "\n".join([*map(text_of, one.messages), *tools]))
    return tokens


def planned(text: str, step: str) -> int:
    line = next(line for line in text.splitlines() if step in line)
    found = SENT.search(line)
    assert found is not None, line
    return int(found[1].replace(",", ""))


@pytest.mark.parametrize("kind", QUESTIONS)
def test_a_round_sends_what_its_plan_says(tmp_path: Path, kind: str) -> None:
    (tmp_path / "q.json").write_text(
        json.dumps({"format": OWN, "questions": [{"id": "q", "kind": kind, **QUESTIONS[kind]}]})
    )
    assert run_cli(tmp_path, "questions", "import", "q.json", "--as", "s").returncode == 0
    with OpenAIServer(scripted(TREE)) as server:
        words = (
            "tournament", "run", "s", "--model", "openai/x", "--set", f"api_base={server.url}", "--contexts", "none", "--promote", "1",
            "--set", "tree_grounder=zero-shot", "--set", f"reply_tokens={REPLY}",
        )  # fmt: skip
        plan = run_cli(tmp_path, *words, "--plan-only")
        assert plan.returncode == 0 and not server.asked, plan.stderr
        first = run_cli(tmp_path, *words, "--until", "quick")
        quick = sum(tokens_of(server.asked).values())
        done = run_cli(tmp_path, *words)
        assert (first.returncode, done.returncode) == (0, 0), first.stderr + done.stderr
        by_stage = tokens_of(server.asked)
    assert planned(plan.stdout, "quick pass") == pytest.approx(quick, rel=0.1)
    assert planned(plan.stdout, "trees") == pytest.approx(sum(by_stage.values()) - quick, rel=0.1), by_stage


@pytest.mark.long
@pytest.mark.parametrize("grounder", ["notebook", "zero-shot"])
def test_the_rest_of_a_planned_tree_sends_what_its_line_says(tmp_path: Path, grounder: str) -> None:
    with OpenAIServer(scripted(SMALL)) as server:
        words = (
            "--model", "openai/x", "--api-base", server.url, "--grounder", grounder, "--isolation", "none",
            "--set", f"reply_tokens={REPLY}", "--set", "background=It was so for years.",
        )  # fmt: skip
        plan = run_cli(tmp_path, "analyze", "The index closes above 20 on 2018-12-31", "--cutoff", "2018-06-30", "--plan-only", *words)  # fmt: skip
        assert plan.returncode == 0, plan.stderr
        before = sum(tokens_of(server.asked).values())
        (run,) = json.loads(run_cli(tmp_path, "runs", "--json").stdout)
        done = run_cli(tmp_path, "resume", run["run_id"])
        assert done.returncode == 0, done.stderr
        by_stage = tokens_of(server.asked)
    assert planned(plan.stderr + plan.stdout, "tokens sent") == pytest.approx(
        sum(by_stage.values()) - before, rel=0.1
    ), by_stage
