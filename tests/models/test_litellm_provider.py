"""``offline/analyst`` through LiteLLM's own door gives the same words as in-process."""

import pytest

from proxies.asof.clock import Cutoff
from tests.offline.inprocess import RecordingAsker, analyst, ground
from workbench.agents.analyzers.rounds import RoundsAnalyzer
from workbench.models.base import NodeRef
from workbench.models.providers.listed import load_litellm
from workbench.models.providers.litellm_provider import register
from workbench.propositions import Tree

DEMO = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"


async def test_the_same_reply_through_litellm() -> None:
    litellm = load_litellm()
    model = analyst()
    register(litellm, model)
    asker = RecordingAsker(model)

    async def ignore(tree: Tree) -> None:
        return None

    tree = await RoundsAnalyzer().analyze(
        Tree.root_only(DEMO), cutoff=Cutoff.parse("2018-06-30"), ask=asker, on_round=ignore
    )
    await ground(model, NodeRef(id="P4", statement=tree["P4"].statement), "2018-06-30", asker=asker)
    assert len(asker.replies) == 8
    for request, reply in asker.replies:
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        response = await litellm.acompletion(model="offline/analyst", messages=messages)
        assert response.choices[0].message.content == reply.text
        assert response.model == "offline/analyst"


async def test_refusals_come_through_as_errors_of_litellm_or_ours() -> None:
    litellm = load_litellm()
    text = "- P0: It rains\n\nKnowledge cutoff: 2018-06-30\n\n<END_OF_ANALYSIS>"
    with pytest.raises(Exception, match="names no series"):
        await litellm.acompletion(model="offline/analyst", messages=[{"role": "user", "content": text}])
    with pytest.raises(Exception, match="Knowledge cutoff"):
        await litellm.acompletion(model="offline/analyst", messages=[{"role": "user", "content": "hello"}])
    with pytest.raises(Exception, match="offline/analyst"):
        await litellm.acompletion(model="offline/other", messages=[{"role": "user", "content": text}])
