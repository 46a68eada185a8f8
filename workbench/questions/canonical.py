"""``canonical_claim``: from a canonical sentence to its claim; it reads `Claim.statement` back."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from workbench.questions.claims import UNDECIDED, Claim, SentenceForm, expressions
from workbench.questions.errors import ClaimRefused
from workbench.questions.readings.amounts import take_amounts
from workbench.questions.readings.days import Calendar, Window, take_days
from workbench.questions.readings.names import SeriesName, reachable, take_series
from workbench.questions.readings.tokens import Piece, Text, text_of
from workbench.questions.series.series_registry import series_named


def canonical_claim(text: str) -> Claim | None:
    """Return the claim of a canonical sentence, with days and numbers in any writing; None for another sentence.

    Raises `ClaimRefused`: Its parts do not fit each other.

    >>> canonical_claim("The VIX closes above 20 on 31 December 2018").statement
    'The VIX closes above 20 on 2018-12-31'
    """
    words = plain_words(text)
    for iso in (True, False):
        sentence = Sentence(words, iso=iso)
        for expression, template in expressions():
            if match := expression.fullmatch(sentence.plain):
                return checked(sentence.claim(match, template))
    return None


#: What is seen in values of days alone.
_DAILY = ("drawdown", "peak", "record", "average", "volatility")


def decidable(claim: Claim, *, monthly: bool = False) -> bool:
    """Whether a rule can decide a claim: its own sentence reads back into it, and its series has the values that it needs.

    ``monthly`` is whether its series is known to have a value a month, which a reference alone may not tell.
    """
    claim = replace(claim, reference=False, notes=())
    monthly = monthly or (not claim.unheld and claim.about.monthly)
    # A month is no day, whatever the sentence of a reference says.
    daily = _DAILY if ":" not in claim.series else (*_DAILY, "step", "streak")
    if claim.unheld or claim.pattern in UNDECIDED or (monthly and (claim.every or claim.pattern in daily)):
        return False
    try:
        return canonical_claim(claim.statement) == claim
    except (ClaimRefused, ValueError, KeyError):
        return False


def plain_words(text: str) -> str:
    """Return a text without quotation marks around it, its white space folded."""
    return " ".join(text.replace("’", "'").strip().strip('"“”').split())


_BY = "'by' is read as: on at least one day up to and including that date"
_MOVES = {
    "rise": "rises?|gains?|increases?|climbs?|advances?|grows?|goes up",
    "fall": "falls?|drops?|declines?|loses?|decreases?|goes down",
}
_LETTERS = {"S": "S", "A": "A", "D": "D", "P": "P", "average": "V", "impossible": "X"}


class Sentence:
    """A sentence in a small alphabet: ``S0`` a series, ``A1`` a number, ``%2`` a percentage, ``D3`` a day, ``P4`` a month, ``Y5`` a year."""

    def __init__(self, words: str, *, iso: bool) -> None:
        self.text = text = text_of(words)
        # Figures and days first where days are written out: of "reaches 2000 before 1990" neither is a year.
        take_series(text)
        text.find(r"\b200 ?day (?:simple )?(?:moving )?average\b", "average", lambda match: 200)
        calendar = Calendar(None)
        take_days(text, calendar, iso=iso)
        take_amounts(text, decimal=True)
        self.pieces = sorted(
            (piece for piece in text.pieces if piece.kind in _LETTERS), key=lambda piece: piece.start
        )
        #: A day of two meanings is asked about, and makes no sentence.
        self.plain = "" if calendar.asked else _normal(text, self.pieces)

    def claim(self, match: re.Match[str], template: SentenceForm) -> Claim:
        """The claim of a match; raises ``ClaimRefused`` where its words are at odds."""
        groups = {name: said for name, said in match.groupdict().items() if said is not None}
        series = self._series(groups["series"])
        every = groups.get("every", "")
        steps = ("day", "month" if series_named(series).monthly else "day")
        amounts: dict[str, Any] = {
            name: self.pieces[int(groups[name])].value.value
            for name in ("level", "upper", "times")
            if name in groups
        }
        start = groups.get("start")
        by = template.pattern == "touch" and " by " in self.plain
        fields = template.fields(groups, amounts)
        if "level" in template.slots:  # a value of the series itself; other slots say by how much
            self._check_units(groups, series)
        return Claim(
            series=series,
            other=self._series(groups["other"]) if "other" in groups else None,
            start=self._day(start) if start else None,
            end=self._end(groups.get("end") or groups["end2"], before="before" in groups),
            every=None if every in ("", *steps) else every,
            notes=(_BY,) if by else (),
            **{**fields, "times": int(fields.get("times", 1))},
        )

    def _check_units(self, groups: Mapping[str, str], series: str) -> None:
        levels = [self.pieces[int(groups[name])].value for name in ("level", "upper") if name in groups]
        about = series_named(series)
        # An index of which no unit is known may be a rate, as unemployment is at FRED.
        no_rate = about.kind == "price" or (about.kind == "index" and about.unit)
        if no_rate and any(level.unit == "%" for level in levels):
            raise ClaimRefused(
                f"{about.article} is no percentage; state its level, or by how much it rises or falls"
            )

    def _series(self, index: str) -> str:
        return _nameable(self.pieces[int(index)].value).source  # type: ignore[union-attr]

    def _end(self, index: str, *, before: bool) -> date:
        window: Window = self.pieces[int(index)].value
        # "before" excludes its day, the other words include it; of the end of a period its last day counts also before it.
        if not before or window.edge:
            return window.end
        return (window.period.first if window.period else window.end) - timedelta(days=1)

    def _day(self, index: str) -> date:
        window: Window = self.pieces[int(index)].value
        return window.end


def _nameable(candidates: tuple[SeriesName, ...]) -> SeriesName | None:
    """The series that a claim can name of those that are meant: an embedded one, or one by its reference."""
    names = [each for each in reachable(candidates, ("embedded",)) if each.source and ":" in each.ref]
    return names[0] if len(names) == 1 else None


def _normal(text: Text, pieces: list[Piece]) -> str:
    parts, place = [], 0
    for index, piece in enumerate(pieces):
        letter = _LETTERS[piece.kind]
        if piece.kind == "A":
            letter = {"%": "%", "bp": "X"}.get(piece.value.unit, "A")
        if piece.kind == "P":
            days = (piece.value.period.last - piece.value.period.first).days
            letter = "P" if days < 31 else "Y" if days > 360 else "X"
        if piece.kind == "S" and _nameable(piece.value) is None:
            letter = "X"
        parts += [text.masked[place : piece.start], f"{letter}{index}"]
        place = piece.end
    plain = "".join((*parts, text.masked[place:])).strip(" .?!")
    plain = re.sub(r"^(?:will|does|do|is it true that|it is true that) ", "", plain)
    plain = re.sub(r"\b(?:will|would|shall) (not )?", lambda match: "does not " if match[1] else "", plain)
    for verb, words in _MOVES.items():
        plain = re.sub(rf"\bdoes not (?:{words})\b", f"does not {verb}", plain)
        plain = re.sub(rf"(?<!does not )\b(?:{words})\b", f"{verb}s", plain)
    plain = re.sub(r"\bdo not\b", "does not", plain).replace("realized", "realised")
    plain = re.sub(r"[,:](?=\s|$)|\bthe (?=[SDPY]\d)|(?<=[A%]\d) or more(?= on| in)", "", plain)
    return " ".join(plain.split())


def checked(claim: Claim) -> Claim:
    """Return the claim; raises ``ClaimRefused`` if its parts do not fit each other."""
    if claim.start is not None and claim.start >= claim.end:
        raise ClaimRefused(
            f"the claim ends on {claim.end}, not after its start on {claim.start}; swap the two dates"
        )
    monthly = claim.about.monthly or bool(claim.against and claim.against.monthly)
    if monthly and claim.pattern in ("average", "volatility", "relative"):
        raise ClaimRefused(
            f"{claim.about.article} has monthly values only, so its volatility and 200-day average cannot be measured"
        )
    if claim.against and (
        claim.other == claim.series or "volatility" in (claim.about.kind, claim.against.kind)
    ):
        raise ClaimRefused("outperformance needs two different price series: S&P 500, NASDAQ or WTI")
    if claim.pattern == "drawdown" and claim.level is not None and claim.level <= -100:
        raise ClaimRefused("a price cannot fall by 100% or more; state a smaller percentage")
    if claim.pattern == "first_move":
        _check_moves(claim)
    if claim.pattern == "change" and claim.level is not None and claim.level <= -100:
        raise ClaimRefused("a value cannot fall by 100% or more; state a smaller percentage")
    if (
        claim.pattern
        in ("level", "touch", "range", "volatility", "mean", "highest", "lowest", "move", "first")
        and claim.level is not None
        and claim.level <= 0
        # A rate or a balance of another source may lie at or below 0.
        and (
            claim.about.embedded
            or claim.about.kind in ("price", "volatility")
            or claim.pattern == "volatility"
        )
    ):
        raise ClaimRefused("a level has to be above zero")
    return claim


def _check_moves(claim: Claim) -> None:
    level, rival = claim.level or 0.0, claim.upper or 0.0
    if not level or not rival:
        raise ClaimRefused("a move of 0% cannot be tested; state how far the value rises and falls")
    if min(level, rival) <= -100 and claim.about.kind == "price":
        raise ClaimRefused("a price cannot fall by 100% or more; state a smaller percentage")
