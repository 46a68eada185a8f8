"""Another model reads the propositions of a round before anybody pays for grounding them; only where the run names one for it.

It finds what words alone do not show (``critic``): a statement that has nothing to do with the claim, or was settled long ago.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from proxies.asof.asof_text import as_of
from workbench.agents.dialogue import Dialogue
from workbench.agents.errors import AgentGaveUp
from workbench.agents.relayed import Relayed
from workbench.agents.replies import parse_faults
from workbench.models.base import NodeRef
from workbench.prompts import prompts_of

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.agents.base import AgentSettings
    from workbench.models.base import Asker, ModelReply, ModelRequest
    from workbench.propositions import NodeId, Tree


async def second_findings(
    tree: Tree,
    new: list[NodeId],
    *,
    number: int,
    cutoff: Cutoff,
    ask: Asker,
    settings: AgentSettings,
) -> list[str]:
    """Return a line for each fault that the critic's model finds in the new propositions; empty where its reply is no use.

    Parameters
    ----------
    tree : Tree
        With the new propositions in it.
    new : list of str
        Their ids.
    number : int
        How many rounds were read before: a part of the address, so that each round's reading has its own.

    Raises
    ------
    workbench.models.errors.ModelError
        From the asker.
    """

    async def as_critic(request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        return await ask(replace(request, role="critic"), stage=stage, step=number + step, retry=retry)

    render = prompts_of(ask).render
    lines = [f"{node}: {tree[node].statement}{_pushes(tree, node)}" for node in new]
    claim, propositions = f"{tree.root.id}: {tree.root.statement}", "\n".join(lines)
    dialogue = Dialogue(
        system=render("critic_system").text,
        nodes=[NodeRef(id=node, statement=tree[node].statement) for node in (tree.root.id, *new)],
        cutoff=cutoff,
        ask=Relayed(prompts_of(ask), as_critic),
        settings=settings,
    )
    try:
        faults = await dialogue.exchange(
            "critic",
            render(
                "critic",
                claim=as_of(claim, cutoff, kind="title"),
                propositions=propositions,
                cutoff=cutoff.text,
            ).text,
            parse_faults,
            propositions=f"{claim}\n\n{propositions}",
            reply_format='One ```json object {"faults": [{"id", "fault"}]}, the list empty where nothing is wrong.',
            choice="none",
        )
    except AgentGaveUp:
        return []  # a critic that cannot be read is no reason to keep the analyst waiting
    return [f"{node}: {fault}" for node, fault in faults if node in new]


def _pushes(tree: Tree, node: NodeId) -> str:
    parent = tree.parent(node)
    polarity = tree[parent].polarities.get(node) if parent is not None else None
    return f" ({polarity.value} for {parent})" if polarity is not None else ""
