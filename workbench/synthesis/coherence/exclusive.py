"""Find statements that exclude each other because they name different ranges of one quantity.

"closes below 2600", "closes between 2600 and 2800" and "closes above 2800" are one question cut in three: their
probabilities sum to 1. Words that exclude each other otherwise are for the analyst to name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from workbench.propositions.tree_checks import normal_statement
from workbench.synthesis.coherence.findings import (
    NEGATION,
    TOLERANCE,
    Finding,
    check_exclusive,
    check_forecasts,
)

# The number must end as one: not the year of 2018-12-31, the 20 of "20bp" or the 1.2 of 1.2.3.
_LEVEL = r"[$€£]?\s*(-?\d+(?:,\d{3})*(?:\.\d+)?)(?![\w-])(?!\.\d)"
_BETWEEN = re.compile(rf"\b(?:between|from)\s+{_LEVEL}\s*(%|points?|dollars?)?\s+(?:and|to)\s+{_LEVEL}")
_SIDES = (
    # (words, is a lower bound, the bound itself counts)
    (re.compile(rf"\b(?:at or above|at least|no less than|>=|≥)\s*{_LEVEL}"), True, True),
    (re.compile(rf"\b(?:at or below|at most|no more than|<=|≤)\s*{_LEVEL}"), False, True),
    (re.compile(rf"\b(?:above|over|more than|greater than|higher than|exceeds)\s*{_LEVEL}"), True, False),
    (re.compile(rf"\b(?:below|under|less than|fewer than|lower than)\s*{_LEVEL}"), False, False),
)
_TOUCHES = re.compile(
    r"\b(?:by|before|at least once|at some point|any|ever|touch(?:es)?|until|through|stays?)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRange:
    """The part of a quantity's range that a statement claims; ``None`` for a bound that may or may not belong to it."""

    key: str
    low: float
    high: float
    holds_low: bool | None
    holds_high: bool | None


def read_band(key: str, statement: str) -> tuple[str, ValueRange] | None:
    """Split a statement into its range and the rest; None if it names none, or one that may be passed on the way.

    Negated sentences and those about a whole span ("by", "at least once", "stays") are left alone.

    >>> read_band("a", "The VIX closes at or below 20 on 2018-12-31")
    ('the vix closes § on 2018-12-31', ValueRange(key='a', low=-inf, high=20.0, holds_low=False, holds_high=True))
    """
    plain = normal_statement(statement)
    # In these two comparisons "no" negates nothing.
    if NEGATION.search(plain.replace("no less than", "").replace("no more than", "")):
        return None
    between = _BETWEEN.search(plain)
    if between is not None:
        low, high = _amount(between[1]), _amount(between[3])
        if low >= high:
            return None
        rest = plain[: between.start()] + "§" + plain[between.end() :]
        band = ValueRange(key=key, low=low, high=high, holds_low=None, holds_high=None)
        return None if _TOUCHES.search(rest) else (rest, band)
    for words, lower, holds in _SIDES:
        match = words.search(plain)
        if match is None:
            continue
        rest = plain[: match.start()] + "§" + plain[match.end() :]
        if _TOUCHES.search(rest) or any(other.search(rest) for other, _, _ in _SIDES):
            return None
        level = _amount(match[1])
        if lower:
            return rest, ValueRange(key=key, low=level, high=inf, holds_low=holds, holds_high=False)
        return rest, ValueRange(key=key, low=-inf, high=level, holds_low=False, holds_high=holds)
    return None


def find_exclusive(statements: Mapping[str, str]) -> list[tuple[tuple[str, ...], bool]]:
    """Group statements whose ranges do not overlap, and tell for each group whether it covers everything between.

    Only groups that no further statement fits into are given, the ranges in rising order.
    """
    groups: dict[str, list[ValueRange]] = {}
    for key, statement in statements.items():
        found = read_band(key, statement)
        if found is not None:
            groups.setdefault(found[0], []).append(found[1])
    exclusive = []
    for bands in groups.values():
        for chain in _chains(sorted(bands, key=lambda band: (band.low, band.high))):
            if len(chain) > 1:
                exclusive.append((tuple(band.key for band in chain), _covers(chain)))
    return exclusive


def check_ranges(p: Mapping[str, float], statements: Mapping[str, str]) -> list[Finding]:
    """Check the groups of :func:`find_exclusive`: a cover must sum to 1, others to at most 1."""
    findings: list[Finding] = []
    texts = {key: text for key, text in statements.items() if key in p}
    for group, everything in find_exclusive(texts):
        findings += check_exclusive(
            {key: p[key] for key in group}, exhaustive=everything, tolerance=TOLERANCE
        )
    return findings


def forecast_findings(
    p: Mapping[str, float], statements: Mapping[str, str], exclusive: Sequence[Sequence[str]] = ()
) -> list[Finding]:
    """Find forecasts that contradict each other: in the groups that the analyst names, and by their statements.

    ``workbench coherence`` calls this. Statements show nested thresholds and deadlines, ranges of one quantity, repeated and contrary statements.
    """
    findings = check_forecasts(p, statements, exclusive=exclusive)
    # A group that the analyst has named is not reported again as a range.
    reported = {frozenset(finding.ids) for finding in findings}
    return findings + [
        finding for finding in check_ranges(p, statements) if frozenset(finding.ids) not in reported
    ]


#: Chains through overlapping ranges multiply; so many are looked at.
MAX_CHAINS = 200


def _chains(bands: Sequence[ValueRange]) -> list[list[ValueRange]]:
    done: list[list[ValueRange]] = []
    stack: list[list[ValueRange]] = [
        [band] for band in bands if not any(_apart(other, band) for other in bands)
    ]
    while stack and len(done) < MAX_CHAINS:
        chain = stack.pop()
        after = [band for band in bands if _apart(chain[-1], band)]
        # a range with room for another one before it belongs into a longer chain
        following = [band for band in after if not any(_apart(other, band) for other in after)]
        if following:
            stack += [[*chain, band] for band in following]
        else:
            done.append(chain)
    return done


def _apart(lower: ValueRange, upper: ValueRange) -> bool:
    # An unknown bound (None) is read so that neighbours meet: no overlap here, no gap in _covers.
    both_hold = lower.holds_high is True and upper.holds_low is True
    return lower.high < upper.low or (lower.high == upper.low and not both_hold)


def _covers(chain: Sequence[ValueRange]) -> bool:
    if chain[0].low != -inf or chain[-1].high != inf:
        return False
    return all(
        lower.high == upper.low and not (lower.holds_high is False and upper.holds_low is False)
        for lower, upper in pairwise(chain)
    )


def _amount(text: str) -> float:
    return float(text.replace(",", ""))
