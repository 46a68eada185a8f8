"""Options of ``analyze`` that choose agents and their settings."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli
from workbench.agents.registry import open_synthesizer
from workbench.engine.record.fold import load_state
from workbench.propositions import Belief, Polarity, Tree
from workbench.store import Store

pytestmark = pytest.mark.long

STATEMENT = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"
ANALYZE = ("analyze", STATEMENT, "--cutoff", "2018-06-30")


def planned(home: Path, *options: str) -> Any:
    """The settings of a run that was planned with these options."""
    done = run_cli(home, *ANALYZE, "--plan-only", "--json", *options)
    assert done.returncode == 0, done.stderr
    store = Store(home / "home")
    try:
        return load_state(store, json.loads(done.stdout)["run_id"]).settings
    finally:
        store.close()


def test_agent_settings_are_stored_with_the_run(tmp_path: Path) -> None:
    options = ("--analyzer", "rounds", "--set", "analyzer.require_polarity=true")
    settings = planned(tmp_path, *options, "--set", "semantics=strict", "--set", "normalise=min-max")
    assert settings.analyzer == "rounds"
    assert settings.options == {
        "analyzer": {"require_polarity": True},
        "synthesizer": {"semantics": "strict", "normalise": "min-max"},
    }
    assert planned(tmp_path).options == {}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--analyzer", "nobody"), "no analyzer named 'nobody'; there are rounds"),
        (("--set", "loose"), "write ROLE.NAME=VALUE"),
        (("--set", "nobody.x=1"), "options belong to analyzer, grounder or synthesizer, not nobody"),
        (("--set", "grounder.x=1"), "takes no settings of its own, not x"),
        (("--set", "synthesizer.loud=1"), "settings are semantics, normalise, "),
        (("--set", "synthesizer.semantics=free", "--set", "semantics=strict"), "is set twice: set it once"),
        (("--set", "semantics=loose"), "are free or strict, not 'loose'"),
        (
            ("--set", "semantics=strict", "--set", "normalise=loudly"),
            "a normaliser is one of scale, softmax, min-max",
        ),
        (("--set", "normalise=scale"), "add --set semantics=strict"),
        (("--rule", "logic"), "its rule one of linear, vanilla, average, random"),
        (("--rule", "average", "--set", "semantics=strict"), "takes no settings of its own, not semantics"),
    ],
)
def test_a_setting_that_nobody_takes_is_one_line_and_opens_no_run(
    tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    done = run_cli(tmp_path, *ANALYZE, *options)
    assert done.returncode == 2 and done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    assert sentence in line
    assert json.loads(run_cli(tmp_path, "runs", "--json").stdout) == []


def linear_reply(intercept: float, weights: dict[str, float], p: float) -> str:
    block = {"beta": {"beta_0": intercept, **weights}, "p_true": p, "key_factor": "both"}
    return f"The reasons add up.\n\n```json\n{json.dumps(block)}\n```"


def synthesis(options: dict[str, Any], reply: str) -> tuple[dict[str, Any], float]:
    up = Polarity.POSITIVE
    tree = Tree.root_only("It rains").expand("P0", {"P1": "Clouds", "P2": "Wind"}, {"P1": up, "P2": up})
    for node in ("P1", "P2"):
        tree = tree.with_belief(node, Belief(p=0.5, key_factor="", report=""))
    agent: Any = open_synthesizer("linear", None, options)
    weighed = agent.weigh(reply, tree["P0"], tree.children("P0"), stand_by=False)
    rule, belief = agent.settled(weighed, tree.children("P0"))
    return rule.to_json(), belief.p


def test_a_strict_rule_is_made_strict_before_it_is_stored() -> None:
    """Weights of 0.9 and 0.5 reach 1.4: scaled by 1 / 1.4 they reach 1, and the stored p follows them."""
    reply = linear_reply(0.0, {"P1": 0.9, "P2": 0.5}, 0.7)
    free, p = synthesis({}, reply)
    assert "semantics" not in free and free["weights"] == {"P1": 0.9, "P2": 0.5} and p == pytest.approx(0.7)
    strict, p = synthesis({"semantics": "strict"}, reply)
    assert strict["semantics"] == "strict" and p == pytest.approx(0.5)
    assert strict["weights"] == pytest.approx({"P1": 0.9 / 1.4, "P2": 0.5 / 1.4})
    softmax, _ = synthesis({"semantics": "strict", "normalise": "softmax"}, reply)
    assert sum(softmax["weights"].values()) == pytest.approx(1.0)
    assert softmax["weights"] != pytest.approx(strict["weights"])


def test_how_much_residual_risk_is_allowed_is_said_on_the_command_line(tmp_path: Path) -> None:
    asked = (
        "call",
        "embedded/series/observations",
        "series_id=SP500",
        "start=2018-06-25",
        "--cutoff",
        "2018-06-30",
    )
    assert run_cli(tmp_path, *asked, "--set", "max_residual=low").returncode == 0
    refused = run_cli(tmp_path, *asked, "--set", "max_residual=none")
    assert refused.returncode != 0 and "at most none" in refused.stderr
    for command in (asked, (*ANALYZE, "--plan-only")):
        wrong = run_cli(tmp_path, *command, "--set", "max_residual=little")
        assert wrong.returncode == 2 and "'none', 'low', 'medium' or 'high'" in wrong.stderr
