"""The claim's own prior: asked beside the leaves, kept in the root's report, shown on screens, asked for once."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli, run_json
from tests.fakes.model_policy import Asked, Policy
from tests.fakes.openai_server import OpenAIServer
from workbench.agents.replies.analysis_reply import parse_analysis

PLAN = {"P0": {"P1": ("The first part holds", "Positive"), "P2": ("The second part holds", "Positive")}}


def test_the_prior_is_asked_of_the_claim_alone_and_stands_beside_its_answer(tmp_path: Path) -> None:
    with OpenAIServer(Policy(plan=PLAN, p={"P1": 0.6, "P2": 0.6, "P0": 0.25})) as server:
        done = run_json(
            tmp_path,
            "analyze",
            "The cabinet falls by 2024-12-31",
            "--cutoff",
            "2024-01-15",
            *server.words(),
            "--grounder",
            "zero-shot",
            "--set",
            "root_prior=true",
            "--background",
            "It has 76 of 150 seats.",
            OPENAI_API_KEY="none",
        )
        (asked,) = [
            asked for asked in server.asked if "How often do claims like this one come true?" in asked.last
        ]
        assert "76 of 150 seats" in asked.last and "The first part" not in asked.everything
        document = done
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
        (kept,) = [row for row in document["findings"] if row["node"] == "P0"]
        assert kept["check"] == "stood by" and "P0 was given 0.25" in kept["words"]
        assert "Check: P0: its model was asked once and kept its numbers" in shown.stdout
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


class Alternatives(Policy):
    """An analyzer that says of every parent that any of its children suffices."""

    def _analyze(self, asked: Asked) -> dict[str, Any]:
        said = super()._analyze(asked)
        said["content"] = said["content"].replace('"causality"', '"combine": "any suffices", "causality"')
        return said


def test_a_parent_for_which_any_child_suffices_is_computed_as_independent_causes(tmp_path: Path) -> None:
    plan = {"P0": {**PLAN["P0"], "P3": ("A veto is cast", "Negative")}}
    with OpenAIServer(Alternatives(plan=plan, p={"P1": 0.3, "P2": 0.8, "P3": 0.25})) as server:
        done = run_json(
            tmp_path,
            "analyze",
            "The cabinet falls by 2024-12-31",
            "--cutoff",
            "2024-01-15",
            *server.words(),
            "--grounder",
            "zero-shot",
            OPENAI_API_KEY="none",
        )
        (weighed,) = [asked for asked in server.asked if asked.stage == "noisy-or"]
        assert "independent causes" in weighed.last
        document = done
        # leak 0.05, causes of 0.5 each, an inhibitor of 0.2: (1 - 0.95 x 0.85 x 0.60) x 0.95
        assert document["root"]["p"] == pytest.approx(
            (1 - 0.95 * (1 - 0.5 * 0.3) * (1 - 0.5 * 0.8)) * (1 - 0.2 * 0.25)
        )
        assert document["root"]["p"] == pytest.approx(0.489725)
        calls = len(server.asked)
        checked = run_cli(tmp_path, "verify", document["run_id"])
        assert checked.returncode == 0 and len(server.asked) == calls, checked.stdout
