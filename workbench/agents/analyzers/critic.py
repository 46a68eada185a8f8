"""What is wrong with an expansion, before anybody pays for grounding it: checks in code (`findings.statement_checks`), and a model's reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING

from proxies.asof.asof_text import as_of
from workbench.agents.conversation import ask_once
from workbench.agents.errors import AgentGaveUp
from workbench.agents.findings.check_table import RunKind
from workbench.agents.findings.statement_checks import TreeStatement, statement_findings
from workbench.agents.replies.stage_replies import parse_faults
from workbench.models.base import (
    Asker,
    NodeRef,
)

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.agents.base import AgentSettings
    from workbench.agents.replies.analysis_reply import Expansion
    from workbench.propositions import NodeId, Tree


#: By the key "combine" of the reply that proposed them.
_TOGETHER = {
    "": "is made more or less likely by each of {}",
    "all": "is true only if all of {} hold (a Negative one: fail)",
    "any": "is true as soon as one of {} holds (a Negative one: fails)",
}


def findings(tree: Tree, expansions: Sequence[Expansion], last_day: date) -> list[str]:
    """Return one line for each fault of the new statements, in the order of the reply; empty if there is none."""
    said: dict[NodeId, str] = {node: tree[node].statement for node in tree.ids()}
    lines: list[str] = []
    for group in expansions:
        for child, statement in group.children.items():
            faults = statement_findings(TreeStatement(statement, said, last_day), RunKind())
            lines += [f"{child}: {item.words}" for item in faults]
            said[child] = statement
    return lines


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

    `number`: How many rounds were read before: a part of the address, so that each round's reading has its own.

    Raises `ModelError`: From the asker.
    """
    lines = [f"{node}: {tree[node].statement}{_pushes(tree, node)}" for node in new]
    claim, propositions = f"{tree.root.id}: {tree.root.statement}", "\n".join(lines)
    try:
        faults = await ask_once(
            ask,
            "critic",
            parse_faults,
            about=f"{claim}\n\n{propositions}",
            nodes=[NodeRef(id=node, statement=tree[node].statement) for node in (tree.root.id, *new)],
            cutoff=cutoff,
            settings=settings,
            reply_format='One ```json object {"faults": [{"id", "fault"}]}, the list empty where nothing is wrong.',
            role="critic",
            later=number,
            claim=as_of(claim, cutoff, kind="title"),
            propositions=propositions,
            combined="\n".join(_working_together(tree, new)),
        )
    except AgentGaveUp:
        return []  # a critic that cannot be read is no reason to keep the analyst waiting
    return [f"{node}: {fault}" for node, fault in faults if node in new]


def _working_together(tree: Tree, new: Sequence[NodeId]) -> Iterator[str]:
    for parent in dict.fromkeys(tree.parent(node) for node in new):
        if parent is not None:
            listed = ", ".join(child.id for child in tree.children(parent))
            yield f"{parent} {_TOGETHER[tree[parent].combine].format(listed)}"


def _pushes(tree: Tree, node: NodeId) -> str:
    parent = tree.parent(node)
    polarity = tree[parent].polarities.get(node) if parent is not None else None
    return f" ({polarity.value} for {parent})" if polarity is not None else ""
