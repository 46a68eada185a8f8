"""The rules that no model has a say in: they ask nothing and say the same each time."""

import pytest

from tests.agents.test_synthesizers import CHILDREN, NODE, synthesize
from workbench.agents.registry import open_synthesizer


async def test_the_average_is_the_plain_mean_and_asks_nobody() -> None:
    rule, belief, calls = await synthesize("average")
    assert calls == []
    assert rule.to_json() == {"name": "average", "children": ["P1.1", "P1.2"]}
    assert belief.p == pytest.approx((0.7 + 0.25) / 2)
    assert "no model" in belief.key_factor


async def test_random_weights_follow_the_seed() -> None:
    rule, belief, calls = await synthesize("random", rule_seed=7)
    again, _, _ = await synthesize("random", rule_seed=7)
    other, _, _ = await synthesize("random", rule_seed=8)
    assert calls == [] and rule == again and rule != other
    data = rule.to_json()
    assert data["seed"] == 7 and sum(data["weights"].values()) == pytest.approx(1.0)
    assert belief.p == pytest.approx(
        sum(w * c.p for w, c in zip(data["weights"].values(), CHILDREN, strict=True) if c.p)
    )
    assert "seed 7" in belief.report


async def test_a_child_without_a_value_is_refused() -> None:
    from dataclasses import replace

    from tests.agents.scripted import CUTOFF, ScriptedAsker

    with pytest.raises(ValueError, match="before all its children"):
        await open_synthesizer("average").synthesize(
            NODE, [CHILDREN[0], replace(CHILDREN[1], belief=None)], cutoff=CUTOFF, ask=ScriptedAsker()
        )
