"""Thinking grounders: the calls that their definitions say, each at an address of its own; what they leave verifies."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from tests.agents.scripted import CUTOFF, Call
from tests.fakes.leaf import make_leaf_task
from tests.fakes.loop_leaf import MemoryWeb
from workbench.agents.base import AgentSettings, Grounding, GroundingFailure
from workbench.agents.registry import open_grounder
from workbench.errors import UsageError
from workbench.models.base import ModelReply, ModelRequest, NodeRef

LEAF = NodeRef(id="P1", statement="It rains on 2018-12-31")


class Thinker:
    """Answers each stage; ``p`` gives the probabilities of conclusions in order, ``broken`` the calls to spoil first.

    ``always`` is the reply to everything.
    """

    def __init__(
        self,
        *p: float,
        votes: Sequence[tuple[str, float]] = (),
        broken: frozenset[str] = frozenset(),
        always: str | None = None,
    ) -> None:
        self.p = list(p) or [0.7]
        self.broken = set(broken)
        self.always = always
        self.votes = list(votes)
        self.outcomes: dict[str, float] = {}
        self.calls: list[Call] = []

    async def __call__(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        call = Call(request, stage, step, retry)
        assert call.address not in [one.address for one in self.calls], f"asked twice at {call.address}"
        assert LEAF.statement in call.last_user and f"\nKnowledge cutoff: {CUTOFF.text}\n" in call.last_user
        self.calls.append(call)
        return ModelReply(text=self._text(stage, request), model="scripted")

    def _text(self, stage: str, request: ModelRequest) -> str:
        kind = stage.partition("-")[0]
        if self.always is not None:
            return self.always
        if stage in self.broken:
            self.broken.discard(stage)
            return "no block"
        if kind == "propose":
            return '```json\n{"thoughts": ["a thought", "another", "a third"]}\n```'
        if kind in ("merge", "refine"):
            return '```json\n{"thoughts": ["joined"]}\n```'
        if kind == "vote":
            said, confidence = self.votes[sum(call.stage.startswith("vote") for call in self.calls) - 1]
            return f'Thus.\n\n```json\n{{"vote": "{said}", "confidence": {confidence}}}\n```'
        if kind == "query":
            return '```json\n{"words": "rain on new year\'s eve"}\n```'
        if kind == "value":
            return f'```json\n{{"value": {len(self.calls) % 10}}}\n```'
        p = self.p.pop(0) if len(self.p) > 1 else self.p[0]
        if '"percentiles"' in request.messages[-1].content:
            levels = {str(level): float(level) for level in (5, 10, 25, 50, 75, 90, 95)}
            return f"```json\n{json.dumps({'percentiles': levels, 'key_factor': 'clouds'})}\n```"
        if '"probabilities"' in request.messages[-1].content:
            stated = self.outcomes or {"Yes": p}
            return f"```json\n{json.dumps({'rationale': 'One. Two. Three.', 'probabilities': stated})}\n```"
        return f'It may rain.\n\n```json\n{{"p_true": {p}, "key_factor": "clouds"}}\n```'

    def kinds(self) -> dict[str, int]:
        return dict(Counter(call.stage.partition("-")[0] for call in self.calls))


async def ground(name: str, ask: Any, **options: Any) -> Any:
    settings = AgentSettings()
    task = make_leaf_task(LEAF, cutoff=CUTOFF, ask=ask, session=None, settings=settings)
    grounder: Any = open_grounder(name, settings, options)
    if options.get("search"):
        grounder.open_web = lambda task: MemoryWeb()
    return await grounder.ground(task)


TREE = {"propose": 3, "value": 9, "answer": 1}
VOTES = [("yes", 0.9), ("yes", 0.8), ("no", 0.5), ("Yes", 0.3)]


@pytest.mark.parametrize(
    ("name", "options", "ask", "p", "calls"),
    [
        ("zero-shot", {}, Thinker(), 0.7, {"answer": 1}),
        ("tree-of-thoughts", {}, Thinker(), 0.7, TREE),
        ("tree-of-thoughts", {"depth": 3, "branching": 2, "beam": 1}, Thinker(), 0.7, {"propose": 3, "value": 6, "answer": 1}),
        ("graph-of-thoughts", {}, Thinker(), 0.7, {"propose": 3, "value": 3, "merge": 1, "refine": 1, "answer": 1}),
        ("graph-of-thoughts", {"branching": 1, "refine": 2}, Thinker(), 0.7, {"propose": 1, "value": 1, "merge": 1, "refine": 2, "answer": 1}),
        ("forest-of-thoughts", {"trees": 1}, Thinker(), 0.7, TREE),
        # a forest ends when two trees agree, and asks once more when none do
        ("forest-of-thoughts", {}, Thinker(0.2, 0.7, 0.72), 0.71, {"propose": 9, "value": 27, "answer": 3}),
        ("forest-of-thoughts", {}, Thinker(0.5, 0.52), 0.51, {"propose": 6, "value": 18, "answer": 2}),
        ("forest-of-thoughts", {}, Thinker(0.1, 0.5, 0.9, 0.4), 0.4, {"propose": 9, "value": 27, "answer": 4}),
        # Prophet Arena, App. D.3
        ("zero-shot", {"elicit": "ensemble"}, Thinker(0.6, 0.7, 0.5, 0.4), 0.55, {"answer": 1, "variant": 3}),
        ("zero-shot", {"elicit": "both-directions"}, Thinker(0.7, 0.5), 0.6, {"answer": 1, "opposite": 1}),
        ("zero-shot", {"elicit": "aggregate", "count": 2}, Thinker(0.2, 0.9, 0.3), 0.3, {"answer": 2, "aggregate": 1}),
        ("zero-shot", {"elicit": "scaffold"}, Thinker(), 0.7, {"scaffold": 1}),
        ("zero-shot", {"elicit": "votes", "count": 4}, Thinker(votes=VOTES), 0.75, {"vote": 4}),
        ("zero-shot", {"elicit": "weighted-votes", "count": 4}, Thinker(votes=VOTES), 0.8, {"vote": 4}),
        # nobody is sure of anything
        ("zero-shot", {"elicit": "weighted-votes", "count": 4}, Thinker(votes=[("yes", 0), *[("no", 0)] * 3]), 0.25, {"vote": 4}),
    ],
)  # fmt: skip
async def test_calls_and_the_probability_are_those_of_the_definition(
    name: str, options: dict[str, Any], ask: Thinker, p: float, calls: dict[str, int]
) -> None:
    grounding = await ground(name, ask, **options)
    assert isinstance(grounding, Grounding) and ask.kinds() == calls
    assert grounding.belief.p == pytest.approx(p) and grounding.trace["steps"] == sum(calls.values())
    assert [step.p for step in grounding.evidence.steps if step.p is not None][-1] == grounding.belief.p  # type: ignore[attr-defined]
    expected = open_grounder(name, AgentSettings(), options).expected_calls  # type: ignore[attr-defined]
    agreed = grounding.evidence.combined == "agreement"  # type: ignore[attr-defined]
    assert expected > sum(calls.values()) if agreed else expected == sum(calls.values())


async def test_each_way_of_asking_has_prompts_of_its_own() -> None:
    ensemble, both, last = Thinker(), Thinker(), Thinker(0.2, 0.9, 0.3)
    await ground("zero-shot", ensemble, elicit="ensemble")
    assert len({call.last_user for call in ensemble.calls}) == 4
    await ground("zero-shot", both, elicit="both-directions")
    assert ["NOT turn out true" in call.last_user for call in both.calls] == [False, True]
    await ground("zero-shot", last, elicit="aggregate", count=2)
    assert "It gave 0.2." in last.calls[-1].last_user and "It gave 0.9." in last.calls[-1].last_user


@pytest.mark.parametrize(
    ("reply", "options"),
    [
        ('{"vote": "perhaps", "confidence": 1}', {"elicit": "votes"}),
        ('{"vote": "yes", "confidence": 2}', {"elicit": "votes"}),
        ('{"vote": "yes"}', {"elicit": "votes"}),
        ("no block", {}),
    ],
)
async def test_a_reply_that_stays_unreadable_is_a_failure_value(reply: str, options: dict[str, str]) -> None:
    failure = await ground("zero-shot", Thinker(always=f"```json\n{reply}\n```"), **options)
    assert isinstance(failure, GroundingFailure) and failure.retryable


async def test_the_best_line_is_followed() -> None:
    ask = Thinker()
    await ground("tree-of-thoughts", ask)
    proposals = [call.last_user for call in ask.calls if call.stage.startswith("propose")]
    assert "(nothing yet)" in proposals[0] and all("1. " in text for text in proposals[1:])


async def test_a_reply_without_a_block_is_asked_for_again() -> None:
    ask = Thinker(broken=frozenset({"value-2"}))
    grounding = await ground("tree-of-thoughts", ask)
    assert isinstance(grounding, Grounding) and ask.kinds()["value"] == 10


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("tree-of-thoughts", {"depth": 0}, "depth of .* greater than or equal to 1"),
        ("tree-of-thoughts", {"width": 3}, "unknown keys: width"),
        ("zero-shot", {"form": "long"}, "form of .* 'plain', 'brief', 'recall'"),
        ("forest-of-thoughts", {"trees": "many"}, "trees of .* valid integer"),
        ("zero-shot", {"elicit": "dice"}, "elicit of .* 'ensemble', 'both-directions', 'votes'"),
        ("zero-shot", {"elicit": "ensemble", "count": 3}, "ensemble always asks 4 times"),
        ("zero-shot", {"elicit": "votes", "count": 0}, "greater than or equal to 1"),
        ("zero-shot", {"count": 3}, "goes with elicit"),
        ("zero-shot", {"elicit": "votes", "form": "brief"}, "leave out form=brief"),
    ],
)
async def test_settings_that_cannot_be_are_refused(name: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        open_grounder(name, AgentSettings(), options)
