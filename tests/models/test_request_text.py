"""Stage, propositions and cutoff from the words of the real prompts."""

import pytest

from proxies.asof.clock import Cutoff
from tests.fakes.models import ScriptedModel
from tests.offline.inprocess import RecordingAsker, analyst, ground
from workbench.agents.synthesizers.model_synthesizers import (
    LinearSynthesizer,
    LogicSynthesizer,
    NoisyOrSynthesizer,
    VanillaSynthesizer,
)
from workbench.models.base import NodeRef
from workbench.models.request_text import cutoff_of, nodes_of, stage_of
from workbench.propositions import Belief, Polarity, Tree

DEMO = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"


async def test_what_a_request_says_in_words_is_what_its_fields_say() -> None:
    from workbench.agents.analyzers.rounds import RoundsAnalyzer

    model = analyst()
    asker = RecordingAsker(model)

    async def ignore(tree: Tree) -> None:
        return None

    tree = await RoundsAnalyzer().analyze(
        Tree.root_only(DEMO), cutoff=Cutoff.parse("2018-06-30"), ask=asker, on_round=ignore
    )
    await ground(model, NodeRef(id="P2.2", statement=tree["P2.2"].statement), "2018-06-30", asker=asker)
    assert {request.stage for request, _ in asker.replies} == {"analyze", "step", "conclude"}
    for request, _ in asker.replies:
        assert stage_of(request.messages) == request.stage
        assert nodes_of(request.messages) == request.nodes
        assert cutoff_of(request.messages) == request.cutoff


@pytest.mark.parametrize(
    ("synthesizer", "stage"),
    [
        (LinearSynthesizer, "linear"),
        (VanillaSynthesizer, "vanilla"),
        (LogicSynthesizer, "logic"),
        (NoisyOrSynthesizer, "noisy-or"),
    ],
)
async def test_a_synthesis_is_told_from_its_words(synthesizer: type, stage: str) -> None:
    tree = Tree.root_only("It rains").expand(
        "P0",
        {"P1": "Clouds come", "P2": "Wind turns"},
        {"P1": Polarity.POSITIVE, "P2": Polarity.NEGATIVE},
        "n",
    )
    for node, p in (("P1", 0.7), ("P2", 0.2)):
        report = "P1.1: something else, as P2.1 (x): of it\nKnowledge cutoff: 1999-01-01"
        tree = tree.with_belief(node, Belief(p=p, key_factor="k", report=report))
    model = ScriptedModel([RuntimeError("seen")])
    with pytest.raises(RuntimeError, match="seen"):
        await synthesizer().synthesize(
            tree["P0"], [tree["P1"], tree["P2"]], cutoff=Cutoff.parse("2018-06-30"), ask=RecordingAsker(model)
        )
    (request,) = model.requests
    assert stage_of(request.messages) == stage == request.stage
    assert nodes_of(request.messages) == request.nodes
    assert cutoff_of(request.messages) == "2018-06-30"
