"""A claim whose children all speak against it comes out as its model meant, in either form of its weights.

The example is paper A's: two threats, both 5 % likely, and 0.9 - 0.2 p1 - 0.7 p2 = 0.855.
"""

from typing import Any

import pytest

from tests.agents.scripted import CUTOFF
from tests.agents.test_fake_server import HttpAsker
from tests.fakes.model_policy import Asked, Policy, report_with
from tests.fakes.openai_server import OpenAIServer
from workbench.agents.base import AgentSettings
from workbench.agents.registry import open_analyzer, open_synthesizer
from workbench.engine.run_settings import PRESETS
from workbench.propositions import Belief, Tree
from workbench.synthesis import resynthesize, settle
from workbench.synthesis.sensitivity.paths import tornado
from workbench.views.wording import tree_lines

CLAIM = "Nobody leaves the currency union before 2019-01-01"
PLAN = {
    "P0": {
        "P1": ("Party A wins the election of 2018-10-01", "Negative"),
        "P2": ("The banks close for a day before 2018-12-31", "Negative"),
    }
}
SIGNED = {"beta_0": 0.9, "P1": -0.2, "P2": -0.7}
NEGATED = {"beta_0": 0.0, "P1": 0.2, "P2": 0.7}


class Weighs(Policy):
    """Answers every synthesis with these weights."""

    beta: dict[str, float]
    stated: float

    def _linear(self, asked: Asked) -> dict[str, Any]:
        data = {"beta": self.beta, "p_true": self.stated, "key_factor": "both threats are unlikely"}
        return {"role": "assistant", "content": report_with(data, asked.node)}


async def analyzed(beta: dict[str, float], stated: float, **settings: Any) -> tuple[Tree, OpenAIServer]:
    """The tree that the server's model makes of the claim, with both threats at 5 %, and the requests it took."""
    policy = Weighs(plan=PLAN)
    policy.beta, policy.stated = beta, stated

    async def on_round(tree: Tree) -> None:
        return

    with OpenAIServer(policy) as server:
        ask = HttpAsker(server.url)
        tree = await open_analyzer("rounds").analyze(
            Tree.root_only(CLAIM), cutoff=CUTOFF, ask=ask, on_round=on_round
        )
        for child in tree.children("P0"):
            tree = tree.with_belief(child.id, Belief(p=0.05, key_factor="calm", report="Rare."))
        agent = open_synthesizer("linear", AgentSettings(**settings))
        rule, belief = await agent.synthesize(tree["P0"], tree.children("P0"), cutoff=CUTOFF, ask=ask)
    return settle(tree.with_rule("P0", rule, belief)), server


@pytest.mark.parametrize("beta", [SIGNED, NEGATED], ids=["signed", "through the negations"])
@pytest.mark.parametrize("preset", ["product", "analytica-paper"])
async def test_the_authors_negative_example_comes_out_as_the_model_meant(
    beta: dict[str, float], preset: str
) -> None:
    tree, server = await analyzed(beta, 0.855, **PRESETS[preset].get("agent", {}))
    assert tree.root.p == pytest.approx(0.855, abs=1e-12)
    assert len(server.by_stage("linear")) == 1
    rule = tree.root.rule
    assert rule is not None
    stored = rule.to_json()
    assert stored["intercept"] == pytest.approx(0.9) and stored["weights"] == {"P1": -0.2, "P2": -0.7}
    assert rule.equation() == "0.00 + 0.20 × (1 − P1) + 0.70 × (1 − P2)"
    assert "0.0% with every driver against, 90.0% with every driver for" in "\n".join(tree_lines(tree))
    # a threat that comes true costs its weight, and one that is taken away counts as false
    assert resynthesize(tree, {"P2": 1.0}).tree.root.p == pytest.approx(0.19)
    assert {row.id: row.path_weight for row in tornado(tree)} == pytest.approx({"P1": -0.2, "P2": -0.7})
    removed = rule.without("P2")
    assert removed is not None and removed.evaluate({"P1": 0.05}) == pytest.approx(0.89)
