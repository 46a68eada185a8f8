"""The claim's own prior: asked beside the leaves, kept in the root's report, shown on screens, asked for once."""

import json
from pathlib import Path

import pytest

from tests.command_line import run_cli
from tests.fakes.openai_server import OpenAIServer, Policy
from workbench.agents.replies.analysis_reply import parse_analysis

PLAN = {"P0": {"P1": ("The first part holds", "Positive"), "P2": ("The second part holds", "Positive")}}


def test_the_prior_is_asked_of_the_claim_alone_and_stands_beside_its_answer(tmp_path: Path) -> None:
    with OpenAIServer(Policy(plan=PLAN, p={"P1": 0.6, "P2": 0.6, "P0": 0.25})) as server:
        done = run_cli(
            tmp_path, "analyze", "The cabinet falls by 2024-12-31", "--cutoff", "2024-01-15", "--model", "openai/x", "--api-base", server.url,
            "--price", "openai/x=1,2", "--grounder", "zero-shot", "--set", "root_prior=true", "--json", "--background", "It has 76 of 150 seats.",
            OPENAI_API_KEY="none",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        (asked,) = [
            asked for asked in server.asked if "How often do claims like this one come true?" in asked.last
        ]
        assert "76 of 150 seats" in asked.last and "The first part" not in asked.everything
        document = json.loads(done.stdout)
        assert document["prior"]["prior"] == 0.25 and document["prior"]["cases"]
        shown = run_cli(tmp_path, "show", document["run_id"])
        assert "before its drivers were seen: 25.0%" in shown.stdout, shown.stdout
        # 64 % is far from 25 %: the synthesizer was shown both, once, and stood by its weights
        (look,) = [
            asked
            for asked in server.asked
            if "Before its children were seen, P0 was given 0.25" in asked.last
        ]
        assert look.stage == "linear" and document["root"]["p"] == pytest.approx(0.64)
        calls = len(server.asked)
        assert run_cli(tmp_path, "verify", document["run_id"]).returncode == 0 and len(server.asked) == calls


@pytest.mark.parametrize(
    ("said", "read"),
    [("all needed", "all"), ("ALL_NEEDED", "all"), ("and", "all"), ("any suffices", "any"), ("Or", "any"), ("additive", ""), ("?", ""), (None, "")],
)  # fmt: skip
def test_how_children_work_together_is_read_generously(said: str | None, read: str) -> None:
    group = {"parent": "P0", "children": {"P1": "It holds"}, "causality": "P1, Positive", "combine": said}
    (expansion,) = parse_analysis(f"```json\n{json.dumps([group])}\n```").expansions
    assert expansion.combine == read
