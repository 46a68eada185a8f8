"""Checks of the statements of a tree, and of what stands above them: one table, total over the kinds of run.

Weak models pass anything ("The S&P 500 is the benchmark index"), strong ones now and then leave out a date. The findings go back
to the model once; what it then stands by is taken and shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from proxies.asof.mentions import Mention, mentions
from workbench.agents.findings.check_table import FindingCheck, ReplyFinding, RunKind
from workbench.propositions import Proposition

if TYPE_CHECKING:
    from workbench.propositions import NodeId, Tree

Fault = tuple[str, str] | None

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


#: A date behind one of these is what something is compared with, not the day that settles it.
_COMPARED = re.compile(
    r"\b(since|from|after|than( (on|in|at|its|the|their)\b.{0,30})?|(close|level|value|price|reading|average|rate|high|low) (of|on|in|at)"
    r"|compared (with|to)|as of|between|over|above its|below its)\W*$",
    re.IGNORECASE,
)
_HISTORY = _any_case(
    r"\b(historically|in the past|so far|past cases|comparable|previous|has ever|had ever)\b"
)
_FULL_DAY = re.compile(r"(?<![\d.,])(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)")
_DAY_OF = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|[^\W\d]{3,}\D{0,4}\d{1,2}\D{1,4}\d{4}|\d{1,2}\D{1,4}[^\W\d]{3,}\D{0,3}\d{4}"
)


@dataclass(frozen=True, slots=True)
class TreeStatement:
    """One statement with the claim and the others of its tree that it must not repeat, and the last day that can be seen."""

    statement: str
    others: Mapping[NodeId, str]
    last_day: date


def _telling_words(text: str) -> list[str]:
    words = _WORD.findall(text.lower())
    return [word.removesuffix("s") or word for word in words if word not in _NEGATIONS]


@lru_cache(maxsize=20_000)  # a screen asks again for each of ten thousand statements
def _telling(statement: str) -> tuple[str, ...]:
    """The words of a statement but for small ones and negations; one word more may be another question."""
    return tuple(_telling_words(statement))


def _undated(said: TreeStatement) -> Fault:
    if _DATE.search(said.statement):
        return None
    return "it names no date or period, so nobody can say when it is settled", ""


def _unnamed(said: TreeStatement) -> Fault:
    if not _UNNAMED.match(said.statement):
        return None
    return "it does not name its subject; whoever grounds it sees nothing but this sentence", ""


def _always_true(said: TreeStatement) -> Fault:
    if not _CERTAIN.search(said.statement):
        return None
    return "it is true whatever happens; state something that may turn out false", ""


def _no_threshold(said: TreeStatement) -> Fault:
    text = said.statement
    if not (_OPINION.search(text) or _VAGUE.search(text)) or re.search(r"\d", _DAY.sub("", text)):
        return None
    return "it names no threshold; state a measure and a level, or an event that happens or not", ""


def _settled(said: TreeStatement) -> Fault:
    # Most statements name their day in full, and it is still to come: the dates of all forms take a screen of ten thousand a second.
    ahead = said.last_day.isoformat()
    if any(
        day[0] > ahead and not _COMPARED.search(said.statement[: day.start()])
        for day in _FULL_DAY.finditer(said.statement)
    ):
        return None
    if _HISTORY.search(said.statement):
        return None
    days = [
        _last_day_of(said.statement, each)
        for each in mentions(said.statement)
        if not _COMPARED.search(said.statement[: each.start])
    ]
    if not days or max(days) > said.last_day:
        return None
    return (
        f"its last day, {max(days).isoformat()}, lies before the cutoff: what it says is settled already; state what is still open",
        "",
    )


def _repeats(said: TreeStatement) -> Fault:
    telling = _telling(said.statement)
    for node, other in said.others.items():
        if _telling(other) == telling:
            return f"it says the same as {node}, or its opposite", ""
    return None


def _last_day_of(text: str, mention: Mention) -> date:
    written = text[mention.start : mention.end]
    if _DAY_OF.search(written):
        return mention.day
    if re.fullmatch(r"\d{4}", written):
        return mention.day + timedelta(days=365)
    months = 1 if re.fullmatch(r"\d{4}[-/]\d{2}|[^\W\d]+\.?,? .*\d{4}", written) else 6
    return mention.day + timedelta(days=31 * months)


#: Every check of a statement. A live run has no future that could be settled at its cutoff but its own present.
TREE_CHECKS: tuple[FindingCheck[TreeStatement], ...] = (
    FindingCheck("undated", _undated),
    FindingCheck("unnamed subject", _unnamed),
    FindingCheck("always true", _always_true),
    FindingCheck("no threshold", _no_threshold),
    FindingCheck("settled before the cutoff", _settled),
    FindingCheck("repeats another", _repeats, {"no_tree": None}),
)
#: Those that screens show where the model stood by them; the others are advice to whoever writes a tree.
SHOWN = frozenset({"undated", "settled before the cutoff", "repeats another"})


def statement_findings(said: TreeStatement, kind: RunKind) -> tuple[ReplyFinding, ...]:
    """Return what is wrong with a statement, in the order of the checks."""
    faults = (check.finding(said, kind) for check in TREE_CHECKS)
    return tuple(item for item in faults if item is not None)


def findings_by_node(
    tree: Tree, last_day: date, kind: RunKind
) -> Iterator[tuple[NodeId, list[ReplyFinding]]]:
    """Yield what screens show of a tree's statements below the claim, and of its rules.

    A node at a time in the tree's order, those without a finding too: callers may answer somebody in between.
    """
    first: dict[tuple[str, ...], NodeId] = {}
    for node in tree.ids():
        proposition = tree[node]
        faults: list[ReplyFinding | None] = []
        earlier = first.setdefault(_telling(proposition.statement), node)
        if node != tree.root.id:
            faults += _of_one_statement(proposition.statement, last_day, kind)
            if earlier != node:
                said = TreeStatement(proposition.statement, {earlier: tree[earlier].statement}, last_day)
                faults.append(TREE_CHECKS[-1].finding(said, kind))
        faults += rule_finding(proposition), stood_by_finding(proposition)
        yield node, [each for each in faults if each is not None]


@lru_cache(maxsize=20_000)
def _of_one_statement(statement: str, last_day: date, kind: RunKind) -> tuple[ReplyFinding, ...]:
    said = TreeStatement(statement, {}, last_day)
    faults = (check.finding(said, kind) for check in TREE_CHECKS if check.name in SHOWN)
    return tuple(item for item in faults if item is not None)


FLAT = "weights"
#: What a synthesizer writes above the doubts against which its model stands by its numbers.
STOOD_BY = "**Kept as the model stands by it.** The computed value is stored."


def rule_finding(node: Proposition) -> ReplyFinding | None:
    """Return what is wrong with a rule whose children have no say."""
    rule = node.rule
    if rule is None or not rule.numeric or not node.children:
        return None
    low, high = rule.reachable()
    if high - low > 1e-9:
        return None
    return ReplyFinding(
        check=FLAT,
        words=f"its weights are all zero: it is {low:.3g} whatever the drivers below it say",
    )


def stood_by_finding(node: Proposition) -> ReplyFinding | None:
    """Return the doubts about a combination that its model was shown once and kept its numbers against."""
    if node.belief is None or not node.children:
        return None
    _, heading, after = node.belief.report.rpartition(f"{STOOD_BY}\n\n")
    doubts = [line[2:].rstrip(".") for line in after.split("\n\n")[0].splitlines() if line.startswith("- ")]
    # All-zero weights have a finding of their own.
    doubts = [doubt for doubt in doubts if "weights are all zero" not in doubt]
    if not heading or not doubts:
        return None
    return ReplyFinding(
        check="stood by", words=f"its model was asked once and kept its numbers: {'; '.join(doubts)[:300]}"
    )
