"""Find contradictions: in one tree, and across forecasts that bear on each other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, pairwise
from math import fsum
from typing import Any, Literal

from workbench.propositions import NodeId, Polarity, Rule, Tree
from workbench.propositions.tree_checks import normal_statement
from workbench.steps import Steps, at_once
from workbench.synthesis.errors import SensitivityError
from workbench.synthesis.rules.linear import INTERCEPT

TOLERANCE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Two or more statements or numbers that cannot hold together."""

    #: ``exclusive``, ``nested``, ``frechet``, ``polarity``, ``duplicate``, ``negated``.
    kind: str
    #: Propositions or forecasts it is about.
    ids: tuple[str, ...]
    #: One line.
    message: str
    #: How far off, signed where that has a meaning; None where it is not a matter of degree.
    gap: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**asdict(self), "ids": list(self.ids)}


def check_tree(tree: Tree) -> list[Finding]:
    """Find contradictions in one tree: between polarity and sign, beyond Frechet's bounds, among siblings' words and limits."""
    return at_once(check_tree_in_steps(tree))


def check_tree_in_steps(tree: Tree) -> Steps[list[Finding]]:
    """Make the findings of `check_tree`, an inner node at a time."""
    findings: list[Finding] = []
    for node_id in tree.inner():
        findings += _check_children(tree, node_id)
        yield
    return findings


def _check_children(tree: Tree, node_id: NodeId) -> list[Finding]:
    node = tree[node_id]
    children = list(tree.children(node_id))
    p = {child.id: child.p for child in children if child.p is not None}
    findings: list[Finding] = []
    if node.rule is not None and node.rule.numeric and len(p) == len(children):
        signs = node.rule.coefficients(p)
        for child, polarity in node.polarities.items():
            weight = signs.get(child, 0.0)
            if weight * (1 if polarity is Polarity.POSITIVE else -1) < -1e-12 and child != INTERCEPT:
                findings.append(
                    Finding(
                        kind="polarity",
                        ids=(node_id, child),
                        message=f"{child} is stated as {polarity} for {node_id} but moves it by {weight:+.3g}",
                        gap=weight,
                    )
                )
        if node.p is not None:
            findings += _check_bounds(node_id, node.rule, node.p, p)
    statements = {child.id: child.statement for child in children}
    return [
        *findings,
        *check_statements(statements),
        *check_nested(find_nested(statements), p),
    ]


def check_exclusive(
    p: Mapping[str, float], *, exhaustive: bool = True, tolerance: float = TOLERANCE
) -> list[Finding]:
    """Check that exclusive options sum to 1; to at most 1 when they are not all there are.

    The gap is the sum minus 1.
    """
    gap = fsum(p.values()) - 1.0
    if gap > tolerance or (exhaustive and gap < -tolerance):
        what = "sum to" if exhaustive else "exclude each other but sum to"
        message = f"the options {what} {1 + gap:.4g}, not {'1' if exhaustive else 'at most 1'}"
        return [Finding(kind="exclusive", ids=tuple(p), message=message, gap=gap)]
    return []


def _check_bounds(node: NodeId, rule: Rule, p: float, below: Mapping[NodeId, float]) -> list[Finding]:
    bounds = rule.dependence_bounds(below)
    if bounds is None or bounds[0] - 1e-9 <= p <= bounds[1] + 1e-9:
        return []
    low, high = bounds
    message = (
        f"{node} is {p:.3g}, but {rule.equation()} at its children's values lies in [{low:.3g}, {high:.3g}]"
    )
    ids = (node, *rule.named_children())
    return [Finding(kind="frechet", ids=ids, message=message, gap=p - high if p > high else p - low)]


# -- nested dates and thresholds


@dataclass(frozen=True, slots=True, kw_only=True)
class NestedClaims:
    """Forecasts that imply one another: each implies the next, so p must not fall along ``ids``."""

    ids: tuple[str, ...]
    what: Literal["threshold", "date"]


#: Longer ones are no sentences that differ in one number. Each number costs a look at the whole text, so a stranger's of
#: 20 kB, all digits, kept `audit` busy for minutes.
LONGEST_STATEMENT = 2000

_NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\w-])(?!\.\d)")
_DATE = re.compile(r"(?<![\w-])\d{4}-\d{2}-\d{2}(?![\w-])")
_ABOVE = re.compile(
    r"(?:above|over|at least|more than|exceeds?|greater than|higher than|>=?|≥)\s*[$€£]?\s*§", re.IGNORECASE
)
_BELOW = re.compile(
    r"(?:below|under|at most|less than|fewer than|lower than|<=?|≤)\s*[$€£]?\s*§", re.IGNORECASE
)
_BY = re.compile(r"(?:by|before|no later than)\s*§", re.IGNORECASE)
#: The s of a plural or a verb; "class" has none, "gas" is too short.
_PLURAL = re.compile(r"(?<=..[^s])s$", re.DOTALL)
_LASTS = re.compile(
    r"\b(?:stays?|remains?|keeps?|holds?|throughout|through|until|every|always)\b", re.IGNORECASE
)
NEGATION = re.compile(r"\b(?:not|no|never|neither|nor|fails? to|without|unless)\b|n't\b", re.IGNORECASE)


def find_nested(statements: Mapping[str, str]) -> list[NestedClaims]:
    """Group statements that differ in one threshold or one deadline only.

    "above 20" implies "above 15"; "by 2018-09-30" implies "by 2018-12-31". Negated sentences are left alone, so are those
    with comparisons both ways, deadlines of something that lasts ("stays above 20 until ..."), and very long texts.
    """
    groups: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for key, statement in statements.items():
        if len(statement) > LONGEST_STATEMENT:
            continue
        plain = normal_statement(statement)
        for match in _DATE.finditer(plain):
            template = plain[: match.start()] + "§" + plain[match.end() :]
            if _BY.search(template) and not (NEGATION.search(template) or _LASTS.search(template)):
                groups.setdefault((template, "date"), []).append((float(match[0].replace("-", "")), key))
        # A date's digits are no thresholds; masked at equal length, places in the mask are places in the text.
        masked = _DATE.sub(lambda m: "d" * len(m[0]), plain)
        for match in _NUMBER.finditer(masked):
            template = plain[: match.start()] + "§" + plain[match.end() :]
            above, below = _ABOVE.search(template), _BELOW.search(template)
            if bool(above) != bool(below) and not NEGATION.search(template):
                # Sorted, the narrowest claim comes first: the highest of "above", the lowest of "below".
                level = float(match[0].replace(",", ""))
                groups.setdefault((template, "threshold"), []).append((-level if above else level, key))
    return [
        NestedClaims(
            ids=tuple(key for _, key in sorted(members)), what="date" if what == "date" else "threshold"
        )
        for (_, what), members in groups.items()
        if len({level for level, _ in members}) > 1
    ]


def check_nested(
    groups: Sequence[NestedClaims], p: Mapping[str, float], tolerance: float = 1e-9
) -> list[Finding]:
    """Check that p never falls from a forecast to one that it implies; the gap is the fall, negative."""
    findings = []
    for group in groups:
        chain = [key for key in group.ids if key in p]
        for narrow, wide in pairwise(chain):
            if p[wide] < p[narrow] - tolerance:
                message = f"{narrow} implies {wide} (wider {group.what}), but {p[narrow]:.3g} is more than {p[wide]:.3g}"
                findings.append(
                    Finding(kind="nested", ids=(narrow, wide), message=message, gap=p[wide] - p[narrow])
                )
    return findings


# -- words

_OPPOSITES = {
    "above": "below", "over": "under", "higher": "lower", "rises": "falls", "rise": "fall", "increases": "decreases",
    "increase": "decrease", "more": "less", "wins": "loses", "gains": "loses", "widens": "narrows", "accelerates": "slows",
    "strengthens": "weakens", "outperforms": "underperforms",
}  # fmt: skip
_TURNED = {*_OPPOSITES.items(), *((after, before) for before, after in _OPPOSITES.items())}
_SIDED = {word for pair in _TURNED for word in pair}
_FILLER = {
    "the",
    "a",
    "an",
    "will",
    "be",
    "is",
    "are",
    "do",
    "does",
    "did",
    "has",
    "have",
    "to",
    "of",
    "that",
}


def check_statements(statements: Mapping[str, str]) -> list[Finding]:
    """Find pairs with the same or the contrary words: one negation or one opposite word makes a contrary."""
    findings = []
    bags = {key: _words(text) for key, text in statements.items()}
    # Only those that agree but for opposites are compared, pair by pair: of all n statements they would be n squared.
    alike: dict[tuple[str, ...], list[str]] = {}
    for key, (words, _) in bags.items():
        alike.setdefault(tuple(_OPPOSITES.get(word, word) for word in words), []).append(key)
    place = {key: number for number, key in enumerate(bags)}
    pairs = [pair for keys in alike.values() for pair in combinations(keys, 2)]
    for first, second in sorted(pairs, key=lambda pair: (place[pair[0]], place[pair[1]])):
        (first_words, first_negated), (second_words, second_negated) = bags[first], bags[second]
        # Word by word, so that order counts.
        swaps = [pair for pair in zip(first_words, second_words, strict=True) if pair[0] != pair[1]]
        if len(swaps) > 1 or not _TURNED.issuperset(swaps):
            continue
        same = (not swaps) == (first_negated == second_negated)
        says = "repeats" if same else "is the contrary of"
        findings.append(
            Finding(
                kind="duplicate" if same else "negated",
                ids=(first, second),
                message=f"{second} {says} {first}: {statements[second]!r}",
            )
        )
    return findings


def _words(text: str) -> tuple[list[str], bool]:
    # The pattern for "n't" has the plain apostrophe. Two negations cancel.
    plain = normal_statement(text).replace("’", "'")
    negated = len(NEGATION.findall(plain)) % 2 == 1
    tokens = re.findall(r"[^\W_]+(?:[.,'-][^\W_]+)*|[%$€£]", NEGATION.sub(" ", plain))
    content = [token for token in tokens if token not in _FILLER]
    return [token if token in _SIDED else _PLURAL.sub("", token) for token in content], negated


def check_forecasts(
    p: Mapping[str, float],
    statements: Mapping[str, str] | None = None,
    *,
    exclusive: Sequence[Sequence[str]] = (),
) -> list[Finding]:
    """Find contradictions across forecasts: stated exclusive groups, nested claims, and repeated or contrary words.

    Raises `SensitivityError`: A group names a forecast that is not there.
    """
    for group in exclusive:
        missing = [key for key in group if key not in p]
        if missing:
            raise SensitivityError(f"no forecast {', '.join(missing)}")
    findings = [finding for group in exclusive for finding in check_exclusive({key: p[key] for key in group})]
    texts = {key: text for key, text in (statements or {}).items() if key in p}
    findings += check_nested(find_nested(texts), p)
    for pair in check_statements(texts):
        first, second = pair.ids
        gap = p[second] - (p[first] if pair.kind == "duplicate" else 1 - p[first])
        if abs(gap) > TOLERANCE:
            findings.append(
                Finding(kind=pair.kind, ids=pair.ids, message=f"{pair.message}, off by {gap:+.3g}", gap=gap)
            )
    return findings
