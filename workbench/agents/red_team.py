"""The red team: an agent that writes the strongest case against a finished answer, and says which leaves it would move."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, StringConstraints

from workbench.agents.conversation import ask_once
from workbench.agents.errors import MalformedReply
from workbench.agents.replies.lenient_json import first_line
from workbench.agents.replies.stage_replies import OwnWords, ReplyShape, Unit
from workbench.models.base import (
    Asker,
    NodeRef,
)
from workbench.prompts import prompts_of

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.agents.base import AgentSettings
    from workbench.propositions import NodeId, Tree

STAGE = "redteam"
#: Characters of one leaf's report that are shown, and of all of them.
_LONGEST_REPORT, _LONGEST_REPORTS = 6_000, 120_000
_LONGEST_CASE = 15_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterCase:
    """A case against an answer: its text, the argument that carries it, and the probability in [0, 1] that leaves would have."""

    text: str
    key_point: str
    leaves: Mapping[NodeId, float]


class _CaseShape(ReplyShape):
    key_point: Annotated[OwnWords, StringConstraints(pattern=r"\S")]
    leaves: dict[str, Unit] = Field(min_length=1)


def argued_side(tree: Tree) -> str:
    """Return how the case says that the claim turns out: ``false`` where the answer is 0.5 or above, else ``true``."""
    return "false" if (tree.root.p or 0.0) >= 0.5 else "true"


async def counter_case(tree: Tree, *, cutoff: Cutoff, ask: Asker, settings: AgentSettings) -> CounterCase:
    """Ask the critic's model for the strongest case against the root's probability."""
    render = prompts_of(ask).render
    side, root = argued_side(tree), tree.root
    claim = f"{root.id}: {root.statement}"
    return await ask_once(
        ask,
        "red_team",
        partial(parse_counter_case, leaves=tree.leaves()),
        stage=STAGE,
        system=render("red_team_system", side=side),
        about=claim,
        nodes=[NodeRef(id=root.id, statement=root.statement)],
        cutoff=cutoff,
        settings=settings,
        reply_format=render("red_team_reply"),
        role="critic",
        claim=claim,
        p=f"{root.p:.3f}",
        side=side,
        rules=_rules(tree),
        leaves=_leaves(tree),
    )


def parse_counter_case(text: str, leaves: Collection[NodeId]) -> CounterCase:
    """Read a red team's reply.

    Raises `MalformedReply`: No case in prose, no ``json`` object with a key point, or a probability that is none or of no leaf.
    """
    reply = _CaseShape.read(text)
    if strange := [node for node in reply.leaves if node not in leaves]:
        raise MalformedReply(
            f"{first_line(strange[0], 40)!r} is no proposition at the end of the tree: {', '.join(sorted(leaves)[:20])}"
        )
    if not reply.prose.strip():
        raise MalformedReply("the case itself is missing: write it as prose before the block")
    return CounterCase(
        text=reply.prose.strip()[:_LONGEST_CASE],
        key_point=first_line(reply.key_point, 500),
        leaves=reply.leaves,
    )


def _rules(tree: Tree) -> str:
    lines = []
    for node in tree.inner():
        rule = tree[node].rule
        equation = rule.equation() if rule is not None and rule.numeric else "by judgement, no formula"
        lines.append(f"{node}: {tree[node].statement}\n  p({node}) = {equation}")
    return "\n".join(lines) or "(the claim was examined as a whole)"


def _leaves(tree: Tree) -> str:
    nodes = [tree[leaf] for leaf in tree.leaves()]
    most = min(_LONGEST_REPORT, _LONGEST_REPORTS // max(1, len(nodes)))
    blocks = []
    for node in nodes:
        belief = node.belief
        report = "(no report)" if belief is None or not belief.report else belief.report
        # Its own closing tag inside a report would let the rest of it pass for words of ours.
        report = report.replace("</report>", "(/report)")
        cut = f"{report[:most]}\n({len(report) - most} more characters)" if len(report) > most else report
        p = "unknown" if node.p is None else f"{node.p:.3f}"
        blocks.append(f'{node.id}: {node.statement}\np = {p}\n<report of="{node.id}">\n{cut}\n</report>')
    return "\n\n".join(blocks)
