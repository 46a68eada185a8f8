"""``read``: what a claim as a person types it may say; every screen shows it before anything starts."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from itertools import islice, product

from workbench.questions.claims import Claim
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.readings.drafts import THOUSANDS_DOT, Draft, draft
from workbench.questions.readings.phrasings import rephrased
from workbench.questions.readings.plain_text import plain_text
from workbench.questions.readings.sentences import completed
from workbench.questions.readings.series_names import embedded_name
from workbench.questions.readings.slots import Readings, SlotReading

#: Where series come from; a source that is added here is asked for names that a text may mean.
SOURCES = ("embedded",)
#: "72,50": the grammar of whole sentences would read 7250.
_DECIMAL_COMMA = re.compile(r"\d,\d{1,2}(?!\d)")
#: Readings that are offered at most.
MOST = 4


def read(text: str, cutoff: date, *, sources: Sequence[str] = SOURCES) -> Readings:
    """Return what a text is taken to say at a cutoff; nothing is asked of a model or of data.

    A text with one meaning has a ``best``; one with several has them as ``others`` and no best: it is asked, never guessed. Words that
    belong to no part are in ``leftover``, and then nothing is taken for read: a reading without them is offered where they cannot turn
    the claim into another one, and none where they can ("unless", "futures").

    >>> readings = read("WTI crude > 75 by October 2018", date(2018, 6, 30))
    >>> [each.statement for each in readings.others]
    ['WTI crude oil closes above 75 on 2018-10-31', 'WTI crude oil closes at or above 75 at least once through 2018-10-31']
    >>> read("WTI above 80", date(2018, 6, 30)).missing
    ('window',)
    """
    plain = rephrased(plain_text(text), cutoff)
    first = draft(plain, cutoff, sources, {})
    try:
        if _DECIMAL_COMMA.search(text):
            raise ClaimRefused("the grammar of whole sentences takes a comma for one of thousands")
        if THOUSANDS_DOT.search(text) and "level" in (first.unsettled or {}):
            raise ClaimRefused("it may be a dot of thousands, and so it is asked")
        claim = read_claim(text)
    except ClaimRefused:
        return _joined_drafts(
            text, first, [draft(plain, cutoff, sources, choice) for choice in _choices(first)]
        )
    best = reading_of_claim(claim, first.matched or {})
    return Readings(text=text, best=best, matched=best.read_from, notes=best.notes)


def _choices(first: Draft) -> Iterable[dict[str, int]]:
    """Every way to settle what the words left open, but the first."""
    unsettled = first.unsettled or {}
    ways = product(*(range(count) for count in unsettled.values()))
    return islice((dict(zip(unsettled, way, strict=True)) for way in ways if any(way)), 5)


def _joined_drafts(text: str, first: Draft, rest: Sequence[Draft]) -> Readings:
    drafts = [first, *rest]
    # Each way's own first reading before the second of any.
    rows = [each.readings for each in drafts]
    longest = max(map(len, rows), default=0)
    readings = {each.statement: each for i in range(longest) for row in rows for each in row[i : i + 1]}
    offered = tuple(islice(readings.values(), MOST))
    single = (
        len(offered) == 1
        and not first.missing
        and not {"name", "level", "words"} & {*(first.unsettled or {})}
    )
    return Readings(
        text=text,
        best=offered[0] if single else None,
        others=() if single else offered,
        missing=first.missing,
        leftover=first.leftover,
        matched=first.matched or {},
        notes=offered[0].notes if single else first.notes,
    )


_RELATIONS = {
    "average": "average_gap", "range": "level", "relative": "beats", "highest": "maximum", "lowest": "minimum", "points": "change", "move": "move_by",
    "step": "any_step", "peak": "from_peak", "first_move": "first",
}  # fmt: skip


def reading_of_claim(claim: Claim, matched: dict[str, str] | object = None) -> SlotReading:
    """Return a claim of the grammar as a reading; its statement is the claim's own."""
    names = [embedded_name(each) for each in (claim.series, claim.other) if each]
    strict = {("above", True): "above", ("above", False): "at_least", ("below", True): "below", ("below", False): "at_most"}  # fmt: skip
    comparison = strict.get((claim.side, claim.strict), "toward")
    relation = _RELATIONS.get(claim.pattern, claim.pattern)
    if claim.pattern == "record":
        relation = "new_high" if claim.side == "above" else "new_low"
    never = claim.never
    if claim.pattern == "touch" and never and claim.side != "toward":
        relation, never = "stay", False
        comparison = "below" if claim.side == "above" else "above"
    reading = SlotReading(
        statement=claim.statement,
        series=tuple(each.ref for each in names),
        relation=relation,
        comparison="between" if claim.pattern == "range" else comparison,
        level=claim.level,
        upper=claim.upper,
        unit="%" if claim.pattern in ("change", "drawdown", "average", "volatility", "move", "step", "peak", "first_move") else "points" if claim.pattern == "points" else "",
        window="by" if claim.pattern in ("touch", "drawdown", "step", "peak", "record") else "during" if claim.pattern in ("volatility", "mean", "highest", "lowest", "count", "streak", "first", "first_move") else "on",
        start=claim.start,
        end=claim.end,
        lag=200 if claim.pattern == "average" else claim.times if claim.pattern == "record" and claim.times > 1 else None,
        times=1 if claim.pattern == "record" else claim.times,
        step=claim.every or "",
        never=never,
        read_from=dict(matched) if isinstance(matched, dict) else {},
            )  # fmt: skip
    return replace(
        completed(reading, tuple(names)), claim=claim, statement=claim.statement, notes=claim.remarks
    )


__all__ = ["MOST", "SOURCES", "read", "reading_of_claim"]
