"""What is wrong with an expansion, before anybody pays for grounding it: checks of its words in code, and a second model's reading.

Weak models pass anything ("The S&P 500 is the benchmark index"), strong ones now and then leave out a date. The findings go back
to the model once; what it then stands by is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from proxies.asof.asof_text import as_of
from workbench.agents.errors import AgentGaveUp
from workbench.agents.replies.stage_replies import parse_faults
from workbench.agents.second_model import SecondModel
from workbench.models.base import (
    Asker,
    NodeRef,
)
from workbench.prompts import prompts_of

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.agents.base import AgentSettings
    from workbench.agents.replies.analysis_reply import Expansion
    from workbench.propositions import NodeId, Tree


_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"


def _any_case(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_DATE = _any_case(
    rf"\b(19|20|21)\d\d\b|\b({_MONTHS})\b|\bq[1-4]\b|\b(by|before|until|after|since|during|within|between|in|on|over)\b.*\d"
    r"|\b(deadline|cutoff|in the past|historically|so far|past cases|comparable|previous)\b",
)
_UNNAMED = _any_case(
    r"\s*(it|this|that|they|these|those|he|she|the (company|index|bank|country|party|team|price|rate|event)) ",
)
_OPINION = _any_case(
    r"\b(is|are|remains?|stays?|looks?) (very |quite |too )?"
    r"(good|bad|strong|weak|important|significant|healthy|attractive|reasonable|likely|unlikely|plausible)\b",
)
_VAGUE = _any_case(
    r"\b(significant(ly)?|substantial(ly)?|sharp(ly)?|high|low|elevated|favou?rable|robust(ly)?|strong(ly)?)\b",
)
_DAY = _any_case(rf"\b\d{{4}}(-\d\d){{0,2}}\b|\b\d{{1,2}}(st|nd|rd|th)?\b(?= ({_MONTHS}))")
_CERTAIN = _any_case(
    r"\b(will|does|do) or (will|does|do) not\b|\beither\b.*\bor not\b|\bis (an?|the) [\w' -]*"
    r"(index|company|bank|country|currency|agency|party|exchange|election|measure) (of|in|for)\b",
)
_WORD = re.compile(r"[a-z0-9]+(?:\.[0-9]+)?")
_NEGATIONS = frozenset(
    [
        "not",
        "no",
        "never",
        "fails",
        "fail",
        "to",
        "without",
        "doesn",
        "won",
        "don",
        "t",
        "will",
        "does",
        "do",
        "did",
        "is",
        "are",
        "be",
        "the",
        "a",
        "an",
    ]
)


def findings(tree: Tree, expansions: Sequence[Expansion]) -> list[str]:
    """Return one line for each fault of the new statements, in the order of the reply; empty if there is none.

    Parameters
    ----------
    tree : Tree
        As it was before the expansions.
    """
    said: dict[NodeId, str] = {node: tree[node].statement for node in tree.ids()}
    lines: list[str] = []
    for group in expansions:
        for child, statement in group.children.items():
            lines += [f"{child}: {fault}" for fault in _faults(statement, said)]
            said[child] = statement
    return lines


def _faults(statement: str, said: Mapping[NodeId, str]) -> Iterable[str]:
    if not _DATE.search(statement):
        yield "it names no date or period, so nobody can say when it is settled"
    if _UNNAMED.match(statement):
        yield "it does not name its subject; whoever grounds it sees nothing but this sentence"
    if _CERTAIN.search(statement):
        yield "it is true whatever happens; state something that may turn out false"
    if (_OPINION.search(statement) or _VAGUE.search(statement)) and not re.search(
        r"\d", _DAY.sub("", statement)
    ):
        yield "it names no threshold; state a measure and a level, or an event that happens or not"
    for node, other in said.items():
        if _repeats(statement, other):
            yield f"it says the same as {node}, or its opposite"
            return


def _repeats(left: str, right: str) -> bool:
    """Whether two statements have the same words but for small ones and negations; one word more may be another question."""
    return _telling_words(left) == _telling_words(right)


def _telling_words(text: str) -> list[str]:
    words = _WORD.findall(text.lower())
    return [word.removesuffix("s") or word for word in words if word not in _NEGATIONS]


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
    render = prompts_of(ask).render
    lines = [f"{node}: {tree[node].statement}{_pushes(tree, node)}" for node in new]
    claim, propositions = f"{tree.root.id}: {tree.root.statement}", "\n".join(lines)
    critic = SecondModel(
        role="critic",
        system=render("critic_system").text,
        nodes=[NodeRef(id=node, statement=tree[node].statement) for node in (tree.root.id, *new)],
        cutoff=cutoff,
        ask=ask,
        settings=settings,
        later=number,
    )
    try:
        faults = await critic.answer(
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
        )
    except AgentGaveUp:
        return []  # a critic that cannot be read is no reason to keep the analyst waiting
    return [f"{node}: {fault}" for node, fault in faults if node in new]


def _pushes(tree: Tree, node: NodeId) -> str:
    parent = tree.parent(node)
    polarity = tree[parent].polarities.get(node) if parent is not None else None
    return f" ({polarity.value} for {parent})" if polarity is not None else ""
